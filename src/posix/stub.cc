// libtutti_posix.so: what programs preload so that the file functions of the C library take names on Tutti: "tutti:/a/b",
// and everything under $TUTTI_PREFIX, a directory name that stands for the cluster.
//
// Nothing happens at load, and other names and descriptors go on to the C library: that costs a comparison. The first name
// on Tutti loads libtutti_posix_client.so from this library's own directory. A call that passes by here (made inside the
// C library, or without it) finds a descriptor through which the kernel neither reads nor writes, and fails.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "posix/next_function.h"
#include "posix/operations.h"

namespace {

using tutti::posix::DirectoryName;
using tutti::posix::Operations;

constexpr char kScheme[] = "tutti:";
constexpr int kMostDescriptors = 1 << 16;

std::atomic<bool> ours[kMostDescriptors];
std::atomic<int> directories;  // how many of ours are open
const Operations* loaded;
pthread_once_t once = PTHREAD_ONCE_INIT;

void load() {
  Dl_info self{};
  char path[4096 + 64];
  if (::dladdr(reinterpret_cast<void*>(&load), &self) == 0) return;
  const char* slash = std::strrchr(self.dli_fname, '/');
  const int directory = slash != nullptr ? static_cast<int>(slash + 1 - self.dli_fname) : 0;
  std::snprintf(path, sizeof(path), "%.*slibtutti_posix_client.so", directory, self.dli_fname);
  void* handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "tutti: no files on Tutti in this program: %s\n", ::dlerror());
    return;
  }
  const auto get =
      reinterpret_cast<tutti::posix::GetOperations>(::dlsym(handle, tutti::posix::kGetOperations));
  if (get != nullptr) loaded = get();
}

// Null, with errno set, if it cannot be loaded.
const Operations* operations() {
  pthread_once(&once, &load);
  if (loaded == nullptr) errno = ENOSYS;
  return loaded;
}

// The path inside the cluster; null for a name of another file system.
const char* on_tutti(const char* name) {
  if (name == nullptr) return nullptr;
  if (std::strncmp(name, kScheme, sizeof(kScheme) - 1) == 0) {
    name += sizeof(kScheme) - 1;
    return *name != 0 ? name : "/";
  }
  if (name[0] != '/') return nullptr;
  const char* prefix = std::getenv("TUTTI_PREFIX");
  std::size_t length = prefix != nullptr ? std::strlen(prefix) : 0;
  while (length > 0 && prefix[length - 1] == '/') --length;
  if (length == 0 || std::strncmp(name, prefix, length) != 0) return nullptr;
  name += length;
  return *name == 0 ? "/" : (*name == '/' ? name : nullptr);
}

bool is_ours(int fd) { return fd >= 0 && fd < kMostDescriptors && ours[fd].load(std::memory_order_acquire); }

int open_ours(const char* path, int flags, mode_t mode) {
  const Operations* op = operations();
  if (op == nullptr) return -1;
  const int fd = op->open(path, flags, mode);
  if (fd >= kMostDescriptors) {
    op->close(fd);
    errno = EMFILE;
    return -1;
  }
  if (fd >= 0) ours[fd].store(true, std::memory_order_release);
  return fd;
}

// Only open() with these looks at its mode.
bool takes_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }
#define TUTTI_MODE(flags, last)       \
  mode_t mode = 0;                    \
  if (takes_mode(flags)) {            \
    va_list arguments;                \
    va_start(arguments, last);        \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments);                \
  }

// ---- stdio ----

ssize_t cookie_read(void* cookie, char* buffer, std::size_t count) {
  return ::read(static_cast<int>(reinterpret_cast<std::intptr_t>(cookie)), buffer, count);
}
ssize_t cookie_write(void* cookie, const char* buffer, std::size_t count) {
  const ssize_t written = ::write(static_cast<int>(reinterpret_cast<std::intptr_t>(cookie)), buffer, count);
  return written < 0 ? 0 : written;  // as fopencookie() wants it
}
int cookie_seek(void* cookie, off64_t* offset, int whence) {
  const off_t place = ::lseek(static_cast<int>(reinterpret_cast<std::intptr_t>(cookie)), *offset, whence);
  if (place < 0) return -1;
  *offset = place;
  return 0;
}
int cookie_close(void* cookie) { return ::close(static_cast<int>(reinterpret_cast<std::intptr_t>(cookie))); }

FILE* stream_of(int fd, const char* mode) {
  const cookie_io_functions_t functions = {&cookie_read, &cookie_write, &cookie_seek, &cookie_close};
  return ::fopencookie(reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), mode, functions);
}

FILE* open_stream(const char* path, const char* mode) {
  const bool both = std::strchr(mode, '+') != nullptr;
  int flags = 0;
  switch (mode[0]) {
    case 'r':
      flags = both ? O_RDWR : O_RDONLY;
      break;
    case 'w':
      flags = (both ? O_RDWR : O_WRONLY) | O_CREAT | O_TRUNC;
      break;
    case 'a':
      flags = (both ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND;
      break;
    default:
      errno = EINVAL;
      return nullptr;
  }
  if (std::strchr(mode, 'x') != nullptr) flags |= O_EXCL;
  const int fd = open_ours(path, flags, 0666);
  if (fd < 0) return nullptr;
  FILE* stream = stream_of(fd, mode);
  if (stream == nullptr) ::close(fd);
  return stream;
}

// ---- directories ----

constexpr std::uint64_t kDirectoryMark = 0x7475747469646972U;

// What we hand out as a DIR; the C library's own never begins with the mark.
struct Directory {
  std::uint64_t mark;
  void* names;
  dirent entry;
};

Directory* ours_of(DIR* directory) {
  if (directory == nullptr || directories.load(std::memory_order_acquire) == 0) return nullptr;
  auto* mine = reinterpret_cast<Directory*>(directory);
  return mine->mark == kDirectoryMark ? mine : nullptr;
}

DIR* open_directory(const char* path) {
  const Operations* op = operations();
  void* names = op != nullptr ? op->open_directory(path) : nullptr;
  if (names == nullptr) return nullptr;
  auto* made = static_cast<Directory*>(std::calloc(1, sizeof(Directory)));
  if (made == nullptr) {
    op->close_directory(names);
    return nullptr;
  }
  made->mark = kDirectoryMark;
  made->names = names;
  ++directories;
  return reinterpret_cast<DIR*>(made);
}

dirent* next_entry(Directory& directory) {
  const DirectoryName name = operations()->next_name(directory.names);
  if (name.name == nullptr) return nullptr;
  directory.entry.d_ino = name.inode;
  directory.entry.d_type = name.type;
  directory.entry.d_reclen = sizeof(dirent);
  std::snprintf(directory.entry.d_name, sizeof(directory.entry.d_name), "%s", name.name);
  return &directory.entry;
}

// ---- status ----

int stat_ours(const char* path, struct stat* result, bool follow) {
  const Operations* op = operations();
  return op != nullptr ? op->stat(path, result, follow) : -1;
}

void to_statx(const struct stat& from, struct statx* to) {
  std::memset(to, 0, sizeof(*to));
  to->stx_mask = STATX_BASIC_STATS;
  to->stx_blksize = static_cast<std::uint32_t>(from.st_blksize);
  to->stx_nlink = static_cast<std::uint32_t>(from.st_nlink);
  to->stx_uid = from.st_uid;
  to->stx_gid = from.st_gid;
  to->stx_mode = static_cast<std::uint16_t>(from.st_mode);
  to->stx_ino = from.st_ino;
  to->stx_size = static_cast<std::uint64_t>(from.st_size);
  to->stx_blocks = static_cast<std::uint64_t>(from.st_blocks);
  to->stx_atime.tv_sec = from.st_atim.tv_sec;
  to->stx_mtime.tv_sec = from.st_mtim.tv_sec;
  to->stx_ctime.tv_sec = from.st_ctim.tv_sec;
}

}  // namespace

// The functions, each under the names that programs of today and of yesterday call it by. On 64-bit machines those for
// large files are the same.

TUTTI_EXPORT int open(const char* name, int flags, ...) {
  TUTTI_MODE(flags, flags)
  if (const char* path = on_tutti(name)) return open_ours(path, flags, mode);
  return TUTTI_NEXT(open)(name, flags, mode);
}
TUTTI_EXPORT int open64(const char* name, int flags, ...) {
  TUTTI_MODE(flags, flags)
  if (const char* path = on_tutti(name)) return open_ours(path, flags, mode);
  return TUTTI_NEXT(open64)(name, flags, mode);
}
TUTTI_EXPORT int openat(int directory, const char* name, int flags, ...) {
  TUTTI_MODE(flags, flags)
  if (const char* path = on_tutti(name)) return open_ours(path, flags, mode);
  return TUTTI_NEXT(openat)(directory, name, flags, mode);
}
TUTTI_EXPORT int openat64(int directory, const char* name, int flags, ...) {
  TUTTI_MODE(flags, flags)
  if (const char* path = on_tutti(name)) return open_ours(path, flags, mode);
  return TUTTI_NEXT(openat64)(directory, name, flags, mode);
}
// Of programs compiled with _FORTIFY_SOURCE.
extern "C" int __open_2(const char*, int);
extern "C" int __open64_2(const char*, int);
TUTTI_EXPORT int __open_2(const char* name, int flags) {
  if (const char* path = on_tutti(name)) return open_ours(path, flags, 0);
  return TUTTI_NEXT(__open_2)(name, flags);
}
TUTTI_EXPORT int __open64_2(const char* name, int flags) {
  if (const char* path = on_tutti(name)) return open_ours(path, flags, 0);
  return TUTTI_NEXT(__open64_2)(name, flags);
}
TUTTI_EXPORT int creat(const char* name, mode_t mode) {
  if (const char* path = on_tutti(name)) return open_ours(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
  return TUTTI_NEXT(creat)(name, mode);
}
TUTTI_EXPORT int creat64(const char* name, mode_t mode) {
  if (const char* path = on_tutti(name)) return open_ours(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
  return TUTTI_NEXT(creat64)(name, mode);
}

TUTTI_EXPORT int close(int fd) {
  if (!is_ours(fd)) return TUTTI_NEXT(close)(fd);
  // Before the number is free for others; the implementation gives it back through here.
  ours[fd].store(false, std::memory_order_release);
  return operations()->close(fd);
}
TUTTI_EXPORT ssize_t read(int fd, void* buffer, size_t count) {
  return is_ours(fd) ? operations()->read(fd, buffer, count) : TUTTI_NEXT(read)(fd, buffer, count);
}
TUTTI_EXPORT ssize_t write(int fd, const void* buffer, size_t count) {
  return is_ours(fd) ? operations()->write(fd, buffer, count) : TUTTI_NEXT(write)(fd, buffer, count);
}
TUTTI_EXPORT ssize_t pread(int fd, void* buffer, size_t count, off_t offset) {
  return is_ours(fd) ? operations()->pread(fd, buffer, count, offset)
                     : TUTTI_NEXT(pread)(fd, buffer, count, offset);
}
TUTTI_EXPORT ssize_t pread64(int fd, void* buffer, size_t count, off64_t offset) {
  return is_ours(fd) ? operations()->pread(fd, buffer, count, offset)
                     : TUTTI_NEXT(pread64)(fd, buffer, count, offset);
}
TUTTI_EXPORT ssize_t pwrite(int fd, const void* buffer, size_t count, off_t offset) {
  return is_ours(fd) ? operations()->pwrite(fd, buffer, count, offset)
                     : TUTTI_NEXT(pwrite)(fd, buffer, count, offset);
}
TUTTI_EXPORT ssize_t pwrite64(int fd, const void* buffer, size_t count, off64_t offset) {
  return is_ours(fd) ? operations()->pwrite(fd, buffer, count, offset)
                     : TUTTI_NEXT(pwrite64)(fd, buffer, count, offset);
}
extern "C" ssize_t __read_chk(int, void*, size_t, size_t);
extern "C" ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
extern "C" ssize_t __pread64_chk(int, void*, size_t, off64_t, size_t);
TUTTI_EXPORT ssize_t __read_chk(int fd, void* buffer, size_t count, size_t room) {
  return is_ours(fd) && count <= room ? operations()->read(fd, buffer, count)
                                      : TUTTI_NEXT(__read_chk)(fd, buffer, count, room);
}
TUTTI_EXPORT ssize_t __pread_chk(int fd, void* buffer, size_t count, off_t offset, size_t room) {
  return is_ours(fd) && count <= room ? operations()->pread(fd, buffer, count, offset)
                                      : TUTTI_NEXT(__pread_chk)(fd, buffer, count, offset, room);
}
TUTTI_EXPORT ssize_t __pread64_chk(int fd, void* buffer, size_t count, off64_t offset, size_t room) {
  return is_ours(fd) && count <= room ? operations()->pread(fd, buffer, count, offset)
                                      : TUTTI_NEXT(__pread64_chk)(fd, buffer, count, offset, room);
}
TUTTI_EXPORT ssize_t readv(int fd, const iovec* parts, int count) {
  if (!is_ours(fd)) return TUTTI_NEXT(readv)(fd, parts, count);
  ssize_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t got = operations()->read(fd, parts[i].iov_base, parts[i].iov_len);
    if (got < 0) return sum > 0 ? sum : got;
    sum += got;
    if (static_cast<size_t>(got) < parts[i].iov_len) break;
  }
  return sum;
}
TUTTI_EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
  if (!is_ours(fd)) return TUTTI_NEXT(writev)(fd, parts, count);
  ssize_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t put = operations()->write(fd, parts[i].iov_base, parts[i].iov_len);
    if (put < 0) return sum > 0 ? sum : put;
    sum += put;
  }
  return sum;
}
TUTTI_EXPORT off_t lseek(int fd, off_t offset, int whence) noexcept {
  return is_ours(fd) ? operations()->lseek(fd, offset, whence) : TUTTI_NEXT(lseek)(fd, offset, whence);
}
TUTTI_EXPORT off64_t lseek64(int fd, off64_t offset, int whence) noexcept {
  return is_ours(fd) ? operations()->lseek(fd, offset, whence) : TUTTI_NEXT(lseek64)(fd, offset, whence);
}
TUTTI_EXPORT int ftruncate(int fd, off_t length) noexcept {
  return is_ours(fd) ? operations()->ftruncate(fd, length) : TUTTI_NEXT(ftruncate)(fd, length);
}
TUTTI_EXPORT int ftruncate64(int fd, off64_t length) noexcept {
  return is_ours(fd) ? operations()->ftruncate(fd, length) : TUTTI_NEXT(ftruncate64)(fd, length);
}
TUTTI_EXPORT int fsync(int fd) { return is_ours(fd) ? operations()->fsync(fd) : TUTTI_NEXT(fsync)(fd); }
TUTTI_EXPORT int fdatasync(int fd) {
  return is_ours(fd) ? operations()->fsync(fd) : TUTTI_NEXT(fdatasync)(fd);
}
// Locks of POSIX are not Tutti's: a program that can do without is told that there are none.
TUTTI_EXPORT int flock(int fd, int operation) noexcept;
TUTTI_EXPORT int flock(int fd, int operation) noexcept {
  if (!is_ours(fd)) return TUTTI_NEXT(flock)(fd, operation);
  errno = ENOSYS;
  return -1;
}

#define TUTTI_STAT(function, follow)                                               \
  TUTTI_EXPORT int function(const char* name, struct stat* result) noexcept {      \
    if (const char* path = on_tutti(name)) return stat_ours(path, result, follow); \
    return TUTTI_NEXT(function)(name, result);                                     \
  }
#define TUTTI_STAT64(function, follow)                                          \
  TUTTI_EXPORT int function(const char* name, struct stat64* result) noexcept { \
    if (const char* path = on_tutti(name))                                      \
      return stat_ours(path, reinterpret_cast<struct stat*>(result), follow);   \
    return TUTTI_NEXT(function)(name, result);                                  \
  }
TUTTI_STAT(stat, true)
TUTTI_STAT(lstat, false)
TUTTI_STAT64(stat64, true)
TUTTI_STAT64(lstat64, false)
TUTTI_EXPORT int fstat(int fd, struct stat* result) noexcept {
  return is_ours(fd) ? operations()->fstat(fd, result) : TUTTI_NEXT(fstat)(fd, result);
}
TUTTI_EXPORT int fstat64(int fd, struct stat64* result) noexcept {
  return is_ours(fd) ? operations()->fstat(fd, reinterpret_cast<struct stat*>(result))
                     : TUTTI_NEXT(fstat64)(fd, result);
}
TUTTI_EXPORT int fstatat(int directory, const char* name, struct stat* result, int flags) noexcept {
  if (const char* path = on_tutti(name)) return stat_ours(path, result, (flags & AT_SYMLINK_NOFOLLOW) == 0);
  if ((flags & AT_EMPTY_PATH) != 0 && name != nullptr && *name == 0 && is_ours(directory))
    return operations()->fstat(directory, result);
  return TUTTI_NEXT(fstatat)(directory, name, result, flags);
}
TUTTI_EXPORT int fstatat64(int directory, const char* name, struct stat64* result, int flags) noexcept {
  if (const char* path = on_tutti(name))
    return stat_ours(path, reinterpret_cast<struct stat*>(result), (flags & AT_SYMLINK_NOFOLLOW) == 0);
  return TUTTI_NEXT(fstatat64)(directory, name, result, flags);
}
TUTTI_EXPORT int statx(int directory, const char* name, int flags, unsigned mask,
                       struct statx* result) noexcept {
  const char* path = on_tutti(name);
  const bool descriptor = name != nullptr && *name == 0 && is_ours(directory);
  if (path == nullptr && !descriptor) return TUTTI_NEXT(statx)(directory, name, flags, mask, result);
  struct stat found {};
  const int code = descriptor ? operations()->fstat(directory, &found)
                              : stat_ours(path, &found, (flags & AT_SYMLINK_NOFOLLOW) == 0);
  if (code == 0) to_statx(found, result);
  return code;
}
// Of programs that were linked before glibc 2.33.
extern "C" int __xstat(int, const char*, struct stat*) noexcept;
extern "C" int __lxstat(int, const char*, struct stat*) noexcept;
extern "C" int __fxstat(int, int, struct stat*) noexcept;
TUTTI_EXPORT int __xstat(int /*version*/, const char* name, struct stat* result) noexcept {
  if (const char* path = on_tutti(name)) return stat_ours(path, result, true);
  return TUTTI_NEXT(stat)(name, result);
}
TUTTI_EXPORT int __lxstat(int /*version*/, const char* name, struct stat* result) noexcept {
  if (const char* path = on_tutti(name)) return stat_ours(path, result, false);
  return TUTTI_NEXT(lstat)(name, result);
}
TUTTI_EXPORT int __fxstat(int /*version*/, int fd, struct stat* result) noexcept {
  return is_ours(fd) ? operations()->fstat(fd, result) : TUTTI_NEXT(fstat)(fd, result);
}

// A call by name: Tutti's, or the C library's.
#define TUTTI_BY_NAME(name, ours, theirs)  \
  if (const char* path = on_tutti(name)) { \
    const Operations* op = operations();   \
    return op != nullptr ? op->ours : -1;  \
  }                                        \
  return TUTTI_NEXT(theirs)

TUTTI_EXPORT int access(const char* name, int mode) noexcept {
  TUTTI_BY_NAME(name, access(path, mode), access)(name, mode);
}
TUTTI_EXPORT int faccessat(int directory, const char* name, int mode, int flags) noexcept {
  TUTTI_BY_NAME(name, access(path, mode), faccessat)(directory, name, mode, flags);
}
TUTTI_EXPORT int truncate(const char* name, off_t length) noexcept {
  TUTTI_BY_NAME(name, truncate(path, length), truncate)(name, length);
}
TUTTI_EXPORT int truncate64(const char* name, off64_t length) noexcept {
  TUTTI_BY_NAME(name, truncate(path, length), truncate64)(name, length);
}
TUTTI_EXPORT int unlink(const char* name) noexcept { TUTTI_BY_NAME(name, unlink(path), unlink)(name); }
TUTTI_EXPORT int unlinkat(int directory, const char* name, int flags) noexcept {
  if ((flags & AT_REMOVEDIR) != 0) {
    TUTTI_BY_NAME(name, rmdir(path), unlinkat)(directory, name, flags);
  }
  TUTTI_BY_NAME(name, unlink(path), unlinkat)(directory, name, flags);
}
TUTTI_EXPORT int rmdir(const char* name) noexcept { TUTTI_BY_NAME(name, rmdir(path), rmdir)(name); }
TUTTI_EXPORT int remove(const char* name) noexcept {
  if (on_tutti(name) == nullptr) return TUTTI_NEXT(remove)(name);
  return ::unlink(name) == 0 || (errno == EISDIR && ::rmdir(name) == 0) ? 0 : -1;
}
TUTTI_EXPORT int mkdir(const char* name, mode_t mode) noexcept {
  TUTTI_BY_NAME(name, mkdir(path, mode), mkdir)(name, mode);
}
TUTTI_EXPORT int mkdirat(int directory, const char* name, mode_t mode) noexcept {
  TUTTI_BY_NAME(name, mkdir(path, mode), mkdirat)(directory, name, mode);
}
TUTTI_EXPORT int rename(const char* from, const char* to) noexcept {
  const char* source = on_tutti(from);
  const char* target = on_tutti(to);
  if (source == nullptr && target == nullptr) return TUTTI_NEXT(rename)(from, to);
  if (source == nullptr || target == nullptr) {
    errno = EXDEV;
    return -1;
  }
  const Operations* op = operations();
  return op != nullptr ? op->rename(source, target) : -1;
}

TUTTI_EXPORT DIR* opendir(const char* name) {
  if (const char* path = on_tutti(name)) return open_directory(path);
  return TUTTI_NEXT(opendir)(name);
}
TUTTI_EXPORT dirent* readdir(DIR* directory) {
  Directory* mine = ours_of(directory);
  return mine != nullptr ? next_entry(*mine) : TUTTI_NEXT(readdir)(directory);
}
TUTTI_EXPORT dirent64* readdir64(DIR* directory) {
  Directory* mine = ours_of(directory);
  return mine != nullptr ? reinterpret_cast<dirent64*>(next_entry(*mine)) : TUTTI_NEXT(readdir64)(directory);
}
TUTTI_EXPORT void rewinddir(DIR* directory) noexcept {
  Directory* mine = ours_of(directory);
  return mine != nullptr ? operations()->rewind_directory(mine->names) : TUTTI_NEXT(rewinddir)(directory);
}
TUTTI_EXPORT int closedir(DIR* directory) {
  Directory* mine = ours_of(directory);
  if (mine == nullptr) return TUTTI_NEXT(closedir)(directory);
  operations()->close_directory(mine->names);
  std::free(mine);
  --directories;
  return 0;
}

TUTTI_EXPORT FILE* fopen(const char* name, const char* mode) {
  if (const char* path = on_tutti(name)) return open_stream(path, mode);
  return TUTTI_NEXT(fopen)(name, mode);
}
TUTTI_EXPORT FILE* fopen64(const char* name, const char* mode) {
  if (const char* path = on_tutti(name)) return open_stream(path, mode);
  return TUTTI_NEXT(fopen64)(name, mode);
}
TUTTI_EXPORT FILE* fdopen(int fd, const char* mode) noexcept {
  return is_ours(fd) ? stream_of(fd, mode) : TUTTI_NEXT(fdopen)(fd, mode);
}
