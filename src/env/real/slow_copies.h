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

// Of a long copy. The processor is tried once.
[[nodiscard]] bool copies_slowly(std::uint64_t to, std::uint64_t from);

// Memory of the calling thread for a detour: copies from `from` to it are fast, and so are those from it to whatever is slow to
// copy to from `from`. Valid until the thread's next call.
inline constexpr std::size_t kDetour = 64U << 10U;
[[nodiscard]] std::byte* detour_from(std::uint64_t from);

}  // namespace tutti
