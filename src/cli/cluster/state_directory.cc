#include "cli/cluster/state_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "client/cluster_file.h"
#include "client/real/process.h"

namespace tutti::cli {
namespace {

Status make_private(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return Status::from_errno(errno, fmt::format("create directory {}", path));
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Result<StateDirectory> StateDirectory::choose(const Globals& globals) {
  auto path = state_directory(globals.directory, &environment_variable);
  if (!path.ok()) return path.status();
  return StateDirectory(*std::move(path));
}

bool StateDirectory::has_cluster() const { return ::access(config_path().c_str(), F_OK) == 0; }

Status StateDirectory::check() const {
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0)
    return Status::from_errno(errno, fmt::format("open directory {}", path_));
  if (!S_ISDIR(info.st_mode)) return {Code::not_directory, fmt::format("{} is not a directory", path_)};
  if ((info.st_mode & 0077) != 0) {
    return {Code::permission, fmt::format("{} has mode {:04o} and holds the servers' key: chmod 700 {}",
                                          path_, info.st_mode & 07777, path_)};
  }
  if (::access(path_.c_str(), R_OK | W_OK | X_OK) != 0) {
    return {Code::permission,
            fmt::format("{} cannot be read and written by uid {}; it belongs to uid {} with mode {:04o}",
                        path_, ::geteuid(), info.st_uid, info.st_mode & 07777)};
  }
  // Root passes every permission check, but a directory that its owner shut is not meant to be used.
  if ((info.st_mode & 0700) != 0700) {
    return {Code::permission, fmt::format("{} has mode {:04o}, so its owner cannot read it: chmod 700 {}",
                                          path_, info.st_mode & 07777, path_)};
  }
  return {};
}

Status StateDirectory::create() const {
  std::error_code error;
  const auto parent = std::filesystem::path(path_).parent_path();
  std::filesystem::create_directories(parent, error);
  if (error) return Status::from_errno(error.value(), fmt::format("create directory {}", parent.string()));
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
    return Status::from_errno(errno, fmt::format("create directory {}", path_));
  }
  TUTTI_TRY(check());
  if (!has_cluster() && ::access(key_path().c_str(), F_OK) != 0) {
    for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
      const std::string name = entry.path().filename().string();
      if (name == "log" || name == "run" || name == "lock" || name.ends_with(".new") ||
          name.starts_with("data."))
        continue;
      return {
          Code::exists,
          fmt::format("{} holds {} and no cluster.toml; choose another directory with --dir", path_, name)};
    }
  }
  TUTTI_TRY(make_private(path_ + "/run"));
  return make_private(path_ + "/log");
}

Result<Fd> StateDirectory::lock() const {
  const std::string path = path_ + "/lock";
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return Status::from_errno(errno, fmt::format("open {}", path));
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return Status::from_errno(errno, fmt::format("lock {}", path));
  }
  return file;
}

std::optional<pid_t> StateDirectory::running(const std::string& name) const {
  const Fd file(::open(pid_path(name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  // Asks whether the lock could be had, without taking it from a daemon that is just starting.
  struct flock probe = whole_file();
  if (::fcntl(file.get(), F_OFD_GETLK, &probe) != 0 || probe.l_type == F_UNLCK) return std::nullopt;
  std::array<char, 32> text{};
  const ssize_t length = ::pread(file.get(), text.data(), text.size(), 0);
  pid_t pid = 0;
  if (length <= 0 || std::from_chars(text.data(), text.data() + length, pid).ec != std::errc() || pid <= 0) {
    return std::nullopt;
  }
  return pid;
}

Result<Fd> StateDirectory::claim(const std::string& name) const {
  const std::string path = pid_path(name);
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return Status::from_errno(errno, fmt::format("open {}", path));
  struct flock lock = whole_file();
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES) return Status::from_errno(errno, fmt::format("lock {}", path));
    return Status(Code::busy, fmt::format("{} runs already in {}", name, path_));
  }
  const std::string text = fmt::format("{}\n", ::getpid());
  TUTTI_TRY(pwrite_all(file.get(), std::as_bytes(std::span(text)), 0, path));
  return file;
}

std::vector<std::string> daemon_names(std::uint32_t servers) {
  std::vector<std::string> names = {"meta"};
  for (std::uint32_t i = 0; i < servers; ++i) names.push_back(fmt::format("data.{}", i));
  return names;
}

}  // namespace tutti::cli
