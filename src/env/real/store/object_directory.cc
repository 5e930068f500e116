#include "env/real/store/object_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>

namespace tutti {
namespace {

constexpr int kFormatVersion = 1;
constexpr std::string_view kFormatPrefix = "tutti object store, version ";
constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kFileMode = 0600;

// "c4/00000000000001c4"
std::string name_of(ObjectId object) {
  return fmt::format("{:02x}/{:016x}", ObjectDirectory::bucket(object), object.value);
}

std::optional<ObjectId> parse_name(std::string_view name) {
  ObjectId object;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), object.value, 16);
  if (name.size() != 16 || error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return object;
}

FileDescriptor open_directory_at(int parent, const char* name) {
  return FileDescriptor(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

Status make_directory_at(int parent, const char* name, const std::string& path) {
  if (::mkdirat(parent, name, kDirectoryMode) == 0 || errno == EEXIST) return {};
  return Status::from_errno(errno, fmt::format("make directory {}/{}", path, name));
}

}  // namespace

Result<ObjectDirectory> ObjectDirectory::open(const std::string& path) {
  ObjectDirectory directory(path);
  if (::mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    return Status::from_errno(errno, "make object store directory " + path);
  }
  directory.root_ = open_directory_at(AT_FDCWD, path.c_str());
  if (!directory.root_.valid()) return Status::from_errno(errno, "open object store directory " + path);
  const int root = directory.root_.get();
  if (::flock(root, LOCK_EX | LOCK_NB) != 0) {
    return Status(Code::busy, fmt::format("object store {} is in use by another process", path));
  }
  if (::faccessat(root, "format", F_OK, 0) != 0) TUTTI_TRY(directory.create_format());
  TUTTI_TRY(directory.check_format());
  directory.objects_ = open_directory_at(root, "objects");
  if (!directory.objects_.valid()) return Status::from_errno(errno, "open " + path + "/objects");
  struct statfs info {};
  directory.on_tmpfs_ = ::fstatfs(root, &info) == 0 && info.f_type == TMPFS_MAGIC;
  return directory;
}

Status ObjectDirectory::create_format() {
  TUTTI_TRY(make_directory_at(root_.get(), "objects", path_));
  const FileDescriptor file(
      ::openat(root_.get(), "format.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
  const std::string text = fmt::format("{}{}\n", kFormatPrefix, kFormatVersion);
  const bool written = file.valid() &&
                       ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(file.get()) == 0;
  if (!written || ::renameat(root_.get(), "format.new", root_.get(), "format") != 0 ||
      ::fsync(root_.get()) != 0) {
    return Status::from_errno(errno, "write " + path_ + "/format");
  }
  return {};
}

Status ObjectDirectory::check_format() const {
  const FileDescriptor file(::openat(root_.get(), "format", O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text{};
  const ssize_t length = file.valid() ? ::read(file.get(), text.data(), text.size()) : -1;
  if (length < 0) return Status::from_errno(errno, "read " + path_ + "/format");
  std::string_view rest(text.data(), static_cast<std::size_t>(length));
  int version = 0;
  const bool known = rest.starts_with(kFormatPrefix);
  if (known) rest.remove_prefix(kFormatPrefix.size());
  if (!known || std::from_chars(rest.data(), rest.data() + rest.size(), version).ec != std::errc()) {
    return {Code::malformed,
            fmt::format("{}/format does not say what this directory is: not an object store of Tutti, "
                        "or damaged",
                        path_)};
  }
  if (version != kFormatVersion) {
    return {Code::version,
            fmt::format("object store {} has format version {}, this Tutti reads version {}: use the "
                        "release that wrote it, or a newer one",
                        path_, version, kFormatVersion)};
  }
  return {};
}

std::string ObjectDirectory::path_of(ObjectId object) const {
  return fmt::format("{}/objects/{}", path_, name_of(object));
}

int ObjectDirectory::open_object(ObjectId object, int flags) {
  const std::string name = name_of(object);
  const int fd = ::openat(objects_.get(), name.c_str(), flags | O_CLOEXEC, kFileMode);
  if (fd >= 0 || errno != ENOENT || (flags & O_CREAT) == 0) return fd;
  if (::mkdirat(objects_.get(), name.substr(0, 2).c_str(), kDirectoryMode) != 0) return -1;
  ++buckets_made_;
  return ::openat(objects_.get(), name.c_str(), flags | O_CLOEXEC, kFileMode);
}

int ObjectDirectory::unlink_object(ObjectId object) const {
  return ::unlinkat(objects_.get(), name_of(object).c_str(), 0);
}

off_t ObjectDirectory::length_of(ObjectId object) const {
  struct stat info {};
  return ::fstatat(objects_.get(), name_of(object).c_str(), &info, 0) == 0 ? info.st_size : -1;
}

FileDescriptor ObjectDirectory::open_bucket(std::size_t bucket) const {
  return open_directory_at(objects_.get(), fmt::format("{:02x}", bucket).c_str());
}

Status ObjectDirectory::list_bucket(std::size_t bucket, std::vector<ObjectId>& objects) const {
  FileDescriptor fd = open_bucket(bucket);
  if (!fd.valid() && errno == ENOENT) return {};
  DIR* stream = fd.valid() ? ::fdopendir(fd.get()) : nullptr;
  if (stream == nullptr)
    return Status::from_errno(errno, fmt::format("list {}/objects/{:02x}", path_, bucket));
  fd.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> closing(stream, &::closedir);
  errno = 0;
  while (const dirent* entry = ::readdir(stream)) {
    const std::optional<ObjectId> object = parse_name(entry->d_name);
    if (object && ObjectDirectory::bucket(*object) == bucket) objects.push_back(*object);
    errno = 0;
  }
  if (errno != 0) return Status::from_errno(errno, fmt::format("list {}/objects/{:02x}", path_, bucket));
  return {};
}

}  // namespace tutti
