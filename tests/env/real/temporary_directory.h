// A directory that is gone after the test, with all that is in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace tutti {

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& parent = std::filesystem::temp_directory_path()) {
    std::string name = parent + "/tutti-test-XXXXXX";
    path_ = ::mkdtemp(name.data()) != nullptr ? name : std::string();
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  // A path in it.
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace tutti
