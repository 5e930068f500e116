// tutti_posix_operations: all that the preloaded library knows of this one.
#include "posix/operations.h"

#include <dirent.h>

#include <cerrno>
#include <limits>

#include "posix/files.h"

namespace tutti::posix {
namespace {

int fail(const Status& status) {
  errno = code_errno(status.code());
  return -1;
}

int outcome(const Status& status) { return status.ok() ? 0 : fail(status); }

template <typename T>
auto value(const Result<T>& result) {
  using Plain = std::make_signed_t<T>;
  return result.ok() ? static_cast<Plain>(*result) : static_cast<Plain>(fail(result.status()));
}

int store(const Result<struct stat>& found, struct stat* result) {
  if (!found.ok()) return fail(found.status());
  *result = *found;
  return 0;
}

std::span<std::byte> memory(void* buffer, std::size_t count) {
  constexpr std::size_t kMost = std::numeric_limits<ssize_t>::max();
  return {static_cast<std::byte*>(buffer), std::min(count, kMost)};
}
std::span<const std::byte> memory(const void* buffer, std::size_t count) {
  return memory(const_cast<void*>(buffer), count);
}

int open(const char* path, int flags, mode_t mode) { return value(Files::get().open(path, flags, mode)); }
int close(int fd) { return outcome(Files::get().close(fd)); }
ssize_t read(int fd, void* buffer, std::size_t count) {
  return value(Files::get().read(fd, memory(buffer, count), -1));
}
ssize_t write(int fd, const void* buffer, std::size_t count) {
  return value(Files::get().write(fd, memory(buffer, count), -1));
}
ssize_t pread(int fd, void* buffer, std::size_t count, off_t offset) {
  if (offset < 0) return fail(Status(Code::invalid, "pread: the offset is negative"));
  return value(Files::get().read(fd, memory(buffer, count), offset));
}
ssize_t pwrite(int fd, const void* buffer, std::size_t count, off_t offset) {
  if (offset < 0) return fail(Status(Code::invalid, "pwrite: the offset is negative"));
  return value(Files::get().write(fd, memory(buffer, count), offset));
}
off_t lseek(int fd, off_t offset, int whence) { return value(Files::get().seek(fd, offset, whence)); }
int ftruncate(int fd, off_t length) { return outcome(Files::get().truncate(fd, length)); }
int fsync(int fd) { return outcome(Files::get().sync(fd)); }
int fstat(int fd, struct stat* result) { return store(Files::get().stat(fd), result); }
int stat(const char* path, struct stat* result, bool follow) {
  return store(Files::get().stat(path, follow), result);
}
int access(const char* path, int mode) { return outcome(Files::get().access(path, mode)); }
int truncate(const char* path, off_t length) { return outcome(Files::get().truncate(path, length)); }
int unlink(const char* path) { return outcome(Files::get().unlink(path)); }
int mkdir(const char* path, mode_t mode) { return outcome(Files::get().make_directory(path, mode)); }
int rmdir(const char* path) { return outcome(Files::get().remove_directory(path)); }
int rename(const char* from, const char* to) { return outcome(Files::get().rename(from, to)); }

struct Directory {
  std::vector<DirectoryEntry> entries;
  std::size_t next = 0;
};

void* open_directory(const char* path) {
  auto entries = Files::get().list(path);
  if (!entries.ok()) {
    fail(entries.status());
    return nullptr;
  }
  return new Directory{*std::move(entries)};
}

DirectoryName next_name(void* handle) {
  auto& directory = *static_cast<Directory*>(handle);
  if (directory.next == directory.entries.size()) return {};
  const DirectoryEntry& entry = directory.entries[directory.next++];
  const unsigned char type = entry.type == FileType::directory ? DT_DIR
                             : entry.type == FileType::symlink ? DT_LNK
                                                               : DT_REG;
  return {entry.name.c_str(), entry.inode, type};
}

void rewind_directory(void* handle) { static_cast<Directory*>(handle)->next = 0; }
void close_directory(void* handle) { delete static_cast<Directory*>(handle); }

constexpr Operations kOperations = {
    &open,      &close, &read,   &write,          &pread,     &pwrite,           &lseek,
    &ftruncate, &fsync, &fstat,  &stat,           &access,    &truncate,         &unlink,
    &mkdir,     &rmdir, &rename, &open_directory, &next_name, &rewind_directory, &close_directory,
};

}  // namespace
}  // namespace tutti::posix

extern "C" __attribute__((visibility("default"))) const tutti::posix::Operations* tutti_posix_operations() {
  return &tutti::posix::kOperations;
}
