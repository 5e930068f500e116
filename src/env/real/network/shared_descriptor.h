// SharedDescriptor: a SharedFile that is a descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "env/real/file_descriptor.h"
#include "env/shared_file.h"

namespace tutti {

// Fills the segments from a file by way of memory that lies better (env/real/slow_copies.h), and on by the kernel too: it reports memory
// that is not there. Returns how many bytes have come; fewer at the end of the file, and where the kernel does not do that.
Result<std::uint64_t> read_by_detour(int fd, Bytes offset, std::span<const Segment> into,
                                     std::uint64_t total);

class SharedDescriptor final : public SharedFile {
 public:
  explicit SharedDescriptor(FileDescriptor fd);
  SharedDescriptor(const SharedDescriptor&) = delete;
  SharedDescriptor& operator=(const SharedDescriptor&) = delete;
  ~SharedDescriptor() override;
  [[nodiscard]] Result<Bytes> read(Bytes offset, std::span<const Segment> into) const override;
  [[nodiscard]] Status write(Bytes offset, std::span<const Segment> from) const override;
  [[nodiscard]] std::span<const std::uint64_t> words() const override;
  [[nodiscard]] int descriptor() const override { return fd_.get(); }

 private:
  FileDescriptor fd_;
  Bytes longest_;                   // that this process may make a file; one that tries more is ended for it
  mutable void* mapped_ = nullptr;  // by words(), when first asked for
  mutable std::size_t mapped_length_ = 0;
};

}  // namespace tutti
