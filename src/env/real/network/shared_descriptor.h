// SharedDescriptor: a SharedFile that is a descriptor.
#pragma once

#include <utility>

#include "env/real/file_descriptor.h"
#include "env/shared_file.h"

namespace tutti {

class SharedDescriptor final : public SharedFile {
 public:
  explicit SharedDescriptor(FileDescriptor fd) : fd_(std::move(fd)) {}
  [[nodiscard]] Result<Bytes> read(Bytes offset, std::span<const Segment> into) const override;
  [[nodiscard]] int descriptor() const override { return fd_.get(); }

 private:
  FileDescriptor fd_;
};

}  // namespace tutti
