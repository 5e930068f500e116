// Copies that a processor is slow at, for no fault of theirs.
//
// On some processors (AMD's Zen 3) a string copy, which is how kernel and C library copy, takes four times as long if its destination
// lies up to 31 bytes behind its source, both counted from the begin of their pages: each load is taken for one of bytes that were just
// stored. It is the usual case, not a rare one: malloc() puts a large buffer 16 bytes behind the begin of a page, and what it is filled from
// mostly begins with one. A copy by way of memory that lies otherwise is faster than that.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

// Of a long copy by the kernel. The processor is tried once, and whether the kernel copies within a process (process_vm_readv), as a detour
// needs.
[[nodiscard]] bool copies_slowly(std::uint64_t to, std::uint64_t from);

// Memory for a detour, on the stack: exit handlers copy too, after a thread's own memory is gone.
class Detour {
 public:
  static constexpr std::size_t kSize = 64U << 10U;
  Detour() {}  // NOLINT(modernize-use-equals-default): its bytes are not worth zeros

  // kSize bytes, so that copies from `from` to them are fast, and those from them to whatever is slow to copy to from `from`.
  [[nodiscard]] std::byte* from(std::uint64_t from);

 private:
  static constexpr std::size_t kPage = 4096;
  std::byte memory_[kSize + 2 * kPage];  // NOLINT(modernize-avoid-c-arrays)
};

}  // namespace tutti
