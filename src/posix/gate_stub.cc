// libtutti_gate.so: what programs preload so that files below $TUTTI_GATE_DIRECTORY are written in turns (docs/gate.md).
//
// A file that is opened for writing there holds a turn until it is closed; processes of one launch join one turn, which ends
// a moment after the last close. Everything else goes on to the C library. Without a door (env/real/door/door.h) nothing
// is asked. Not covered: descriptors that are duplicated or inherited and outlive the first close, files that are mapped and closed,
// and whatever does not call the C library (static and Go programs, io_uring): `tutti gate with` is for those.
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "env/real/door/door.h"
#include "posix/next_function.h"
#include "tutti/gate.h"

namespace {

namespace door = tutti::door;

constexpr int kMostDescriptors = 1 << 16;
constexpr std::size_t kMostDirectories = 16;

// The turn of an open file, by its descriptor. Its number is stored last and taken first.
struct Gated {
  std::atomic<int> turn;  // descriptor of the turn, plus 1; 0: none
  std::uint64_t inode;
  pid_t owner;
};
Gated gated[kMostDescriptors];

struct Directories {
  char path[kMostDirectories][PATH_MAX];
  std::size_t count;
  bool sync;
};
Directories directories;
pthread_once_t once = PTHREAD_ONCE_INIT;
thread_local bool
    inside;  // looking for where a file is opens nothing for writing; but nothing may come back here

void read_environment() {
  const char* list = std::getenv(door::kDirectoryVariable);
  const char* sync = std::getenv(door::kSyncVariable);
  directories.sync = sync != nullptr && *sync == '1';
  if (list == nullptr || !door::present()) return;
  while (*list != 0 && directories.count < kMostDirectories) {
    const char* colon = std::strchr(list, ':');
    const std::size_t length = colon != nullptr ? static_cast<std::size_t>(colon - list) : std::strlen(list);
    char name[PATH_MAX];
    if (length > 0 && length < sizeof(name)) {
      std::memcpy(name, list, length);
      name[length] = 0;
      char* real = directories.path[directories.count];
      if (::realpath(name, real) != nullptr) ++directories.count;
    }
    list += length;
    if (*list == ':') ++list;
  }
}

bool below(const char* path, const char* directory) {
  const std::size_t length = std::strlen(directory);
  if (std::strcmp(directory, "/") == 0) return true;
  return std::strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == 0);
}

// Writes where the file is or would be into `full`, without symbolic links in its directory. False if that is not known.
bool whole_name(int at, const char* name, char (&full)[PATH_MAX]) {
  char joined[PATH_MAX];
  if (name[0] != '/' && at != AT_FDCWD) {
    char link[64];
    std::snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
    const ssize_t length = ::readlink(link, joined, sizeof(joined) - 1);
    if (length <= 0) return false;
    const std::size_t room = sizeof(joined) - static_cast<std::size_t>(length);
    if (std::snprintf(joined + length, room, "/%s", name) >= static_cast<int>(room)) return false;
  } else if (std::snprintf(joined, sizeof(joined), "%s", name) >= static_cast<int>(sizeof(joined))) {
    return false;
  }
  char* slash = std::strrchr(joined, '/');
  const char* last = slash != nullptr ? slash + 1 : joined;
  if (slash != nullptr) *slash = 0;
  const char* directory = slash == nullptr ? "." : *joined == 0 ? "/" : joined;
  if (::realpath(directory, full) == nullptr) return false;
  const std::size_t length = std::strlen(full);
  const int added = std::snprintf(full + length, sizeof(full) - length, "%s%s", length > 1 ? "/" : "", last);
  return added >= 0 && static_cast<std::size_t>(added) < sizeof(full) - length;
}

// A turn for writing the file of this name; one without a descriptor if it is none of ours.
door::Turn begin(int at, const char* name) {
  pthread_once(&once, &read_environment);
  if (directories.count == 0 || name == nullptr || inside) return {};
  const int saved = errno;
  inside = true;
  door::Turn turn;
  char full[PATH_MAX];
  if (whole_name(at, name, full)) {
    bool ours = false;
    for (std::size_t i = 0; i < directories.count && !ours; ++i) ours = below(full, directories.path[i]);
    door::Want want;
    want.label = full;
    want.linger = true;
    if (ours) want.device = door::device_of(full);
    if (want.device != 0) turn = door::begin(want);
  }
  inside = false;
  errno = saved;
  return turn;
}

bool writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }
bool writes(const char* mode) {
  return mode != nullptr && (mode[0] != 'r' || std::strchr(mode, '+') != nullptr);
}

door::Turn begin(int at, const char* name, int flags) {
  return writes(flags) && (flags & O_PATH) == 0 ? begin(at, name) : door::Turn();
}

// The file is open, or it is not: then the turn has nothing to wait for.
int keep(int fd, door::Turn turn) {
  if (turn.fd < 0) return fd;
  if (fd < 0 || fd >= kMostDescriptors) {
    door::end(turn);
    return fd;
  }
  gated[fd].inode = turn.inode;
  gated[fd].owner = turn.owner;
  gated[fd].turn.store(turn.fd + 1, std::memory_order_release);
  return fd;
}

door::Turn take(int fd) {
  door::Turn turn;
  if (fd < 0 || fd >= kMostDescriptors) return turn;
  const int number = gated[fd].turn.exchange(0, std::memory_order_acq_rel);
  if (number == 0) return turn;
  turn.fd = number - 1;
  turn.inode = gated[fd].inode;
  turn.owner = gated[fd].owner;
  return turn;
}

bool is_gated(int fd) {
  return fd >= 0 && fd < kMostDescriptors && gated[fd].turn.load(std::memory_order_relaxed) != 0;
}

ssize_t written(int fd, ssize_t count) {
  if (count > 0 && is_gated(fd)) door::progress(static_cast<std::uint64_t>(count));
  return count;
}

bool takes_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }
#define TUTTI_MODE(flags, last)       \
  mode_t mode = 0;                    \
  if (takes_mode(flags)) {            \
    va_list arguments;                \
    va_start(arguments, last);        \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments);                \
  }

}  // namespace

TUTTI_EXPORT int open(const char* name, int flags, ...) {
  TUTTI_MODE(flags, flags)
  const door::Turn turn = begin(AT_FDCWD, name, flags);
  return keep(TUTTI_NEXT(open)(name, flags, mode), turn);
}
TUTTI_EXPORT int open64(const char* name, int flags, ...) {
  TUTTI_MODE(flags, flags)
  const door::Turn turn = begin(AT_FDCWD, name, flags);
  return keep(TUTTI_NEXT(open64)(name, flags, mode), turn);
}
TUTTI_EXPORT int openat(int directory, const char* name, int flags, ...) {
  TUTTI_MODE(flags, flags)
  const door::Turn turn = begin(directory, name, flags);
  return keep(TUTTI_NEXT(openat)(directory, name, flags, mode), turn);
}
TUTTI_EXPORT int openat64(int directory, const char* name, int flags, ...) {
  TUTTI_MODE(flags, flags)
  const door::Turn turn = begin(directory, name, flags);
  return keep(TUTTI_NEXT(openat64)(directory, name, flags, mode), turn);
}
// Of programs compiled with _FORTIFY_SOURCE.
extern "C" int __open_2(const char*, int);
extern "C" int __open64_2(const char*, int);
TUTTI_EXPORT int __open_2(const char* name, int flags) {
  const door::Turn turn = begin(AT_FDCWD, name, flags);
  return keep(TUTTI_NEXT(__open_2)(name, flags), turn);
}
TUTTI_EXPORT int __open64_2(const char* name, int flags) {
  const door::Turn turn = begin(AT_FDCWD, name, flags);
  return keep(TUTTI_NEXT(__open64_2)(name, flags), turn);
}
TUTTI_EXPORT int creat(const char* name, mode_t mode) {
  const door::Turn turn = begin(AT_FDCWD, name);
  return keep(TUTTI_NEXT(creat)(name, mode), turn);
}
TUTTI_EXPORT int creat64(const char* name, mode_t mode) {
  const door::Turn turn = begin(AT_FDCWD, name);
  return keep(TUTTI_NEXT(creat64)(name, mode), turn);
}
TUTTI_EXPORT int close(int fd) {
  door::Turn turn = take(fd);
  if (turn.fd < 0) return TUTTI_NEXT(close)(fd);
  if (directories.sync) ::fdatasync(fd);
  const int closed = TUTTI_NEXT(close)(fd);  // NFS flushes here
  door::end(turn);
  return closed;
}

TUTTI_EXPORT ssize_t write(int fd, const void* buffer, size_t count) {
  return written(fd, TUTTI_NEXT(write)(fd, buffer, count));
}
TUTTI_EXPORT ssize_t pwrite(int fd, const void* buffer, size_t count, off_t offset) {
  return written(fd, TUTTI_NEXT(pwrite)(fd, buffer, count, offset));
}
TUTTI_EXPORT ssize_t pwrite64(int fd, const void* buffer, size_t count, off64_t offset) {
  return written(fd, TUTTI_NEXT(pwrite64)(fd, buffer, count, offset));
}
TUTTI_EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
  return written(fd, TUTTI_NEXT(writev)(fd, parts, count));
}

namespace {

FILE* keep_stream(FILE* stream, door::Turn turn) {
  if (stream == nullptr) {
    door::end(turn);
  } else {
    keep(::fileno(stream), turn);
  }
  return stream;
}

}  // namespace

TUTTI_EXPORT FILE* fopen(const char* name, const char* mode) {
  const door::Turn turn = writes(mode) ? begin(AT_FDCWD, name) : door::Turn();
  return keep_stream(TUTTI_NEXT(fopen)(name, mode), turn);
}
TUTTI_EXPORT FILE* fopen64(const char* name, const char* mode) {
  const door::Turn turn = writes(mode) ? begin(AT_FDCWD, name) : door::Turn();
  return keep_stream(TUTTI_NEXT(fopen64)(name, mode), turn);
}
TUTTI_EXPORT size_t fwrite(const void* data, size_t size, size_t count, FILE* stream) {
  const size_t done = TUTTI_NEXT(fwrite)(data, size, count, stream);
  written(::fileno(stream), static_cast<ssize_t>(done * size));
  return done;
}
TUTTI_EXPORT int fclose(FILE* stream) {
  const int fd = stream != nullptr ? ::fileno(stream) : -1;
  door::Turn turn = take(fd);
  if (turn.fd < 0) return TUTTI_NEXT(fclose)(stream);
  if (directories.sync && ::fflush(stream) == 0) ::fdatasync(fd);
  const int closed = TUTTI_NEXT(fclose)(stream);
  door::end(turn);
  return closed;
}

TUTTI_EXPORT int rename(const char* from, const char* to) noexcept {
  door::Turn turn = begin(AT_FDCWD, to);
  const int renamed = TUTTI_NEXT(rename)(from, to);
  door::end(turn);
  return renamed;
}
TUTTI_EXPORT int renameat(int old_directory, const char* from, int directory, const char* to) noexcept {
  door::Turn turn = begin(directory, to);
  const int renamed = TUTTI_NEXT(renameat)(old_directory, from, directory, to);
  door::end(turn);
  return renamed;
}

// ---- the API of tutti/gate.h ----

struct tutti_gate_turn {
  door::Turn turn;
};

TUTTI_EXPORT tutti_gate_turn* tutti_gate_ask(const char* path, uint64_t bytes) {
  auto* handle = static_cast<tutti_gate_turn*>(std::calloc(1, sizeof(tutti_gate_turn)));
  if (handle == nullptr) return nullptr;
  handle->turn.fd = -1;
  door::Want want;
  want.label = path;
  want.device = door::device_of(path);
  want.expected = bytes;
  if (want.device != 0) handle->turn = door::ask(want);
  return handle;
}
TUTTI_EXPORT int tutti_gate_test(tutti_gate_turn* turn) {
  return turn == nullptr || door::test(turn->turn) ? 1 : 0;
}
TUTTI_EXPORT int tutti_gate_wait(tutti_gate_turn* turn) {
  if (turn == nullptr) return 0;
  door::wait(turn->turn);
  return turn->turn.fd >= 0 && turn->turn.fence != 0 ? 1 : 0;
}
TUTTI_EXPORT void tutti_gate_release(tutti_gate_turn* turn) {
  if (turn == nullptr) return;
  door::end(turn->turn);
  std::free(turn);
}
