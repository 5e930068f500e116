// Operations: what the preloaded library asks of the implementation that it loads when a program first names a file on
// Tutti.
//
// As the functions of POSIX with the same names: the result, or -1 and errno. Paths are those of the cluster. Safe to be
// called by any thread; calls take turns.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace tutti::posix {

struct DirectoryName {
  const char* name = nullptr;  // null behind the last
  std::uint64_t inode = 0;
  unsigned char type = 0;  // as in struct dirent
};

struct Operations {
  // The descriptor is a genuine one, so that no other gets its number; the kernel refuses to read or write through it.
  int (*open)(const char* path, int flags, mode_t mode);
  int (*close)(int fd);
  ssize_t (*read)(int fd, void* buffer, std::size_t count);
  ssize_t (*write)(int fd, const void* buffer, std::size_t count);
  ssize_t (*pread)(int fd, void* buffer, std::size_t count, off_t offset);
  ssize_t (*pwrite)(int fd, const void* buffer, std::size_t count, off_t offset);
  off_t (*lseek)(int fd, off_t offset, int whence);
  int (*ftruncate)(int fd, off_t length);
  int (*fsync)(int fd);
  int (*fstat)(int fd, struct stat* result);
  int (*stat)(const char* path, struct stat* result, bool follow);
  int (*access)(const char* path, int mode);
  int (*truncate)(const char* path, off_t length);
  int (*unlink)(const char* path);
  int (*mkdir)(const char* path, mode_t mode);
  int (*rmdir)(const char* path);
  int (*rename)(const char* from, const char* to);
  // Of a directory: what is in it, as it was then. Null and errno if it cannot be read.
  void* (*open_directory)(const char* path);
  DirectoryName (*next_name)(void* directory);
  void (*rewind_directory)(void* directory);
  void (*close_directory)(void* directory);
};

// The one function that the implementation exports.
using GetOperations = const Operations* (*)();
inline constexpr const char* kGetOperations = "tutti_posix_operations";

}  // namespace tutti::posix
