// TemporaryDirectory: a fresh private directory, removed with all it holds.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "base/units.h"

namespace tutti::cli {

class TemporaryDirectory {
 public:
  // In `parent`; if that is empty, in /dev/shm if `room` is free there, else in $TMPDIR or /tmp.
  static Result<std::unique_ptr<TemporaryDirectory>> create(const std::string& prefix, Bytes room,
                                                            const std::string& parent = {});
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace tutti::cli
