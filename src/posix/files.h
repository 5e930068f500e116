// Files: the open files of a process that names files on Tutti in POSIX calls, and the client they use.
//
// The client is made by the first call and has no threads: every call drives it to its end. A child made by fork() has
// a client of its own and none of the files.
#pragma once

#include <sys/stat.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/real/real_client.h"

namespace tutti::posix {

class Files {
 public:
  static Files& get();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() = default;

  Result<int> open(const std::string& path, int flags, mode_t mode);
  Status close(int fd);
  // `offset` below 0: at the file's position, which moves on.
  Result<std::size_t> read(int fd, std::span<std::byte> buffer, off_t offset);
  Result<std::size_t> write(int fd, std::span<const std::byte> buffer, off_t offset);
  Result<off_t> seek(int fd, off_t offset, int whence);
  Status truncate(int fd, off_t length);
  Status sync(int fd);
  Result<struct stat> stat(int fd);

  Result<struct stat> stat(const std::string& path, bool follow);
  Status access(const std::string& path, int mode);
  Status truncate(const std::string& path, off_t length);
  Status unlink(const std::string& path);
  Status make_directory(const std::string& path, mode_t mode);
  Status remove_directory(const std::string& path);
  Status rename(const std::string& from, const std::string& to);
  Result<std::vector<DirectoryEntry>> list(const std::string& path);

 private:
  struct Open {
    std::string path;
    int flags = 0;
    off_t position = 0;
    std::unique_ptr<OpenFile> file;
  };
  Files() = default;
  // The client of this process, connected.
  Result<FileSystem*> system();
  Result<Open*> find(int fd);
  template <typename T>
  T run(Task<T> task) {
    return client_->run(std::move(task));
  }
  template <typename Make>
  Status change(Make make);

  std::mutex mutex_;
  pid_t process_ = 0;
  std::unique_ptr<RealClient> client_;
  std::map<int, Open> files_;
};

}  // namespace tutti::posix
