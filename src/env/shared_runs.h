// Many short runs into files that others gave us to be written (shared_file.h).
//
// Short runs cost more by the call to the kernel than by the byte. Where files can be mapped one call copies many of them, and
// unlike a store by this process it reports what is not there, or not any more, instead of ending the process.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "env/network.h"

namespace tutti {

// A file, mapped once that is of use.
class SharedMap {
 public:
  explicit SharedMap(std::shared_ptr<const SharedFile> file) : file_(std::move(file)) {}
  SharedMap(const SharedMap&) = delete;
  SharedMap& operator=(const SharedMap&) = delete;
  ~SharedMap();

  [[nodiscard]] const SharedFile& file() const { return *file_; }
  // As many bytes as the file has now; none if it cannot be mapped. Whoever touches what has been cut off meanwhile is ended:
  // only the kernel may.
  [[nodiscard]] std::span<std::byte> bytes();

 private:
  std::shared_ptr<const SharedFile> file_;
  std::byte* base_ = nullptr;
  std::size_t mapped_ = 0;
};

// Bytes of this process's memory, and where they go.
struct SharedRun {
  SharedMap* to = nullptr;
  Bytes offset;
  Segment from;
};

// Writes the runs in their order. All of them, or an error: then any part may be there.
[[nodiscard]] Status write_runs(std::span<const SharedRun> runs);

}  // namespace tutti
