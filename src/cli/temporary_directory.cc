#include "cli/temporary_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

bool has_room(const std::string& directory, Bytes room) {
  std::error_code error;
  const auto space = fs::space(directory, error);
  return !error && space.available >= room.count() && ::access(directory.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

Result<std::unique_ptr<TemporaryDirectory>> TemporaryDirectory::create(const std::string& prefix, Bytes room,
                                                                       const std::string& wanted) {
  const char* variable = std::getenv("TMPDIR");
  const std::string fallback = variable != nullptr && *variable != 0 ? variable : "/tmp";
  const std::string parent = !wanted.empty() ? wanted : has_room("/dev/shm", room) ? "/dev/shm" : fallback;
  if (!has_room(parent, room) && !wanted.empty())
    return Status(Code::no_space, fmt::format("{} has not {} free", parent, to_string(room)));
  if (!has_room(parent, room)) {
    return Status(Code::no_space,
                  fmt::format("neither /dev/shm nor {} has {} free", parent, to_string(room)));
  }
  std::string path = fmt::format("{}/{}-XXXXXX", parent, prefix);
  if (::mkdtemp(path.data()) == nullptr) return Status::from_errno(errno, fmt::format("create {}", path));
  return std::unique_ptr<TemporaryDirectory>(new TemporaryDirectory(std::move(path)));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace tutti::cli
