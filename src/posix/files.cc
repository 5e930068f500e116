#include "posix/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tutti::posix {
namespace {

constexpr blksize_t kBlock = 65536;
constexpr off_t kSector = 512;

timespec to_timespec(Nanos time) {
  timespec result{};
  result.tv_sec = time / 1_s;
  result.tv_nsec = time.count() % 1'000'000'000;
  return result;
}

struct stat to_stat(const Attributes& attributes) {
  struct stat result {};
  const mode_t kind = attributes.type == FileType::directory ? S_IFDIR
                      : attributes.type == FileType::symlink ? S_IFLNK
                                                             : S_IFREG;
  result.st_mode = kind | attributes.mode;
  result.st_ino = attributes.inode;
  result.st_nlink = attributes.links;
  result.st_uid = attributes.uid;
  result.st_gid = attributes.gid;
  result.st_size = static_cast<off_t>(attributes.size.count());
  result.st_blksize = kBlock;
  result.st_blocks = (result.st_size + kSector - 1) / kSector;
  result.st_atim = to_timespec(attributes.accessed);
  result.st_mtim = to_timespec(attributes.modified);
  result.st_ctim = to_timespec(attributes.changed);
  return result;
}

bool in_group(gid_t group) {
  if (group == ::getegid()) return true;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  for (int i = 0; i < count; ++i) {
    if (groups[static_cast<std::size_t>(i)] == group) return true;
  }
  return false;
}

// A number that nobody else gets; the kernel neither reads nor writes through it, so that a call which passes us by
// fails and loses nothing.
Result<int> reserve_descriptor() {
  const int fd = ::open("/", O_PATH | O_CLOEXEC);
  if (fd < 0) return Status::from_errno(errno, "reserve a descriptor");
  return fd;
}

RealClientOptions client_options() {
  RealClientOptions options;
  options.log = client_log("tutti.posix", LogLevel::warn, options.environment);
  return options;
}

bool writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }
bool reads(int flags) { return (flags & O_ACCMODE) != O_WRONLY; }

}  // namespace

Files& Files::get() {
  static auto* const kFiles = new Files;  // exit handlers may still use it
  return *kFiles;
}

Result<FileSystem*> Files::system() {
  if (process_ != ::getpid()) {
    // What a parent left here has its sockets: it is dropped, not ended.
    static_cast<void>(client_.release());
    for (auto& [fd, open] : files_) static_cast<void>(open.file.release());
    files_.clear();
    client_ = std::make_unique<RealClient>(client_options());
    process_ = ::getpid();
  }
  if (Status connected = client_->connect(); !connected.ok()) return connected;
  return &client_->files();
}

Result<Files::Open*> Files::find(int fd) {
  const auto found = files_.find(fd);
  if (found == files_.end() || process_ != ::getpid())
    return Status(Code::invalid, "the descriptor is not one of this process");
  return &found->second;
}

Result<int> Files::open(const std::string& path, int flags, mode_t mode) {
  const std::lock_guard guard(mutex_);
  const auto system = this->system();
  if (!system.ok()) return system.status();
  OpenOptions options;
  options.read = reads(flags);
  options.write = writes(flags);
  options.create = (flags & O_CREAT) != 0;
  options.exclusive = (flags & O_EXCL) != 0;
  options.truncate = (flags & O_TRUNC) != 0;
  options.mode = mode & 07777U & ~process_umask();
  auto file = run((*system)->open(path, options));
  if (!file.ok()) return file.status();
  const auto fd = reserve_descriptor();
  if (!fd.ok()) return fd;
  files_[*fd] = {path, flags, 0, *std::move(file)};
  return fd;
}

Status Files::close(int fd) {
  const std::lock_guard guard(mutex_);
  const auto open = find(fd);
  if (!open.ok()) return open.status();
  const Status closed = run((*open)->file->close());
  files_.erase(fd);
  ::close(fd);
  return closed;
}

Result<std::size_t> Files::read(int fd, std::span<std::byte> buffer, off_t offset) {
  const std::lock_guard guard(mutex_);
  const auto open = find(fd);
  if (!open.ok()) return open.status();
  if (!reads((*open)->flags)) return Status(Code::permission, "the file is open for writing only");
  const off_t place = offset < 0 ? (*open)->position : offset;
  const auto got = run((*open)->file->read(Bytes(static_cast<std::uint64_t>(place)), buffer));
  if (!got.ok()) return got.status();
  if (offset < 0) (*open)->position += static_cast<off_t>(got->count());
  return static_cast<std::size_t>(got->count());
}

Result<std::size_t> Files::write(int fd, std::span<const std::byte> buffer, off_t offset) {
  const std::lock_guard guard(mutex_);
  const auto open = find(fd);
  if (!open.ok()) return open.status();
  Open& file = **open;
  if (!writes(file.flags)) return Status(Code::permission, "the file is open for reading only");
  off_t place = offset < 0 ? file.position : offset;
  if (offset < 0 && (file.flags & O_APPEND) != 0) {
    const auto size = run(file.file->size());
    if (!size.ok()) return size.status();
    place = static_cast<off_t>(size->count());
  }
  const Status written = run(file.file->write(Bytes(static_cast<std::uint64_t>(place)), buffer));
  if (!written.ok()) return written;
  if (offset < 0) file.position = place + static_cast<off_t>(buffer.size());
  return buffer.size();
}

Result<off_t> Files::seek(int fd, off_t offset, int whence) {
  const std::lock_guard guard(mutex_);
  const auto open = find(fd);
  if (!open.ok()) return open.status();
  off_t base = 0;
  if (whence == SEEK_CUR) {
    base = (*open)->position;
  } else if (whence == SEEK_END) {
    const auto size = run((*open)->file->size());
    if (!size.ok()) return size.status();
    base = static_cast<off_t>(size->count());
  } else if (whence != SEEK_SET) {
    return Status(Code::invalid, "seek: no such origin");
  }
  if (base + offset < 0) return Status(Code::invalid, "seek to before the begin of the file");
  (*open)->position = base + offset;
  return base + offset;
}

Status Files::truncate(int fd, off_t length) {
  const std::lock_guard guard(mutex_);
  const auto open = find(fd);
  if (!open.ok()) return open.status();
  if (length < 0 || !writes((*open)->flags)) return {Code::invalid, "truncate: not open for writing"};
  return run((*open)->file->truncate(Bytes(static_cast<std::uint64_t>(length))));
}

Status Files::sync(int fd) {
  const std::lock_guard guard(mutex_);
  const auto open = find(fd);
  return open.ok() ? run((*open)->file->sync()) : open.status();
}

Result<struct stat> Files::stat(int fd) {
  const std::lock_guard guard(mutex_);
  const auto open = find(fd);
  if (!open.ok()) return open.status();
  const auto size = run((*open)->file->size());
  if (!size.ok()) return size.status();
  Attributes attributes = (*open)->file->attributes();
  attributes.size = *size;
  return to_stat(attributes);
}

Result<struct stat> Files::stat(const std::string& path, bool follow) {
  const std::lock_guard guard(mutex_);
  const auto system = this->system();
  if (!system.ok()) return system.status();
  const auto attributes = run((*system)->stat(path, follow));
  if (!attributes.ok()) return attributes.status();
  return to_stat(*attributes);
}

Status Files::access(const std::string& path, int mode) {
  const auto found = stat(path, true);
  if (!found.ok()) return found.status();
  if (mode == F_OK || ::geteuid() == 0) return {};
  const unsigned shift = found->st_uid == ::geteuid() ? 6U : (in_group(found->st_gid) ? 3U : 0U);
  const auto wanted = static_cast<mode_t>(mode) & 7U;
  return ((found->st_mode >> shift) & wanted) == wanted ? Status()
                                                        : Status(Code::permission, "access " + path);
}

template <typename Make>
Status Files::change(Make make) {
  const std::lock_guard guard(mutex_);
  const auto system = this->system();
  return system.ok() ? run(make(**system)) : system.status();
}

Status Files::truncate(const std::string& path, off_t length) {
  if (length < 0) return {Code::invalid, "truncate " + path + ": the length is negative"};
  return change(
      [&](FileSystem& system) { return system.truncate(path, Bytes(static_cast<std::uint64_t>(length))); });
}

Status Files::unlink(const std::string& path) {
  return change([&](FileSystem& system) { return system.unlink(path); });
}

Status Files::make_directory(const std::string& path, mode_t mode) {
  return change([&](FileSystem& system) {
    return system.make_directory(path, mode & 07777U & ~process_umask(), LayoutWish());
  });
}

Status Files::remove_directory(const std::string& path) {
  return change([&](FileSystem& system) { return system.remove_directory(path); });
}

Status Files::rename(const std::string& from, const std::string& to) {
  return change([&](FileSystem& system) { return system.rename(from, to); });
}

Result<std::vector<DirectoryEntry>> Files::list(const std::string& path) {
  const std::lock_guard guard(mutex_);
  const auto system = this->system();
  if (!system.ok()) return system.status();
  return run((*system)->list(path, false));
}

}  // namespace tutti::posix
