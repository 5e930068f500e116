#include "env/real/store/object_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <string_view>

namespace tutti {
namespace {

constexpr int kFormatVersion = 2;
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

// The line that begins so, without that; empty if there is none.
std::string_view line_after(std::string_view text, std::string_view beginning) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(beginning)) return line.substr(beginning.size());
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

template <typename Number>
bool parse_number(std::string_view text, Number& into, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return error == std::errc() && end == text.data() + text.size();
}

FileDescriptor open_directory_at(int parent, const char* name) {
  return FileDescriptor(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

Status make_directory_at(int parent, const char* name, const std::string& path) {
  if (::mkdirat(parent, name, kDirectoryMode) == 0 || errno == EEXIST) return {};
  return Status::from_errno(errno, fmt::format("make directory {}/{}", path, name));
}

}  // namespace

Status ObjectDirectory::lock() {
  root_ = open_directory_at(AT_FDCWD, path_.c_str());
  if (!root_.valid()) return Status::from_errno(errno, "open object store directory " + path_);
  if (::flock(root_.get(), LOCK_EX | LOCK_NB) == 0) return {};
  return {Code::busy, fmt::format("object store {} is in use by another process", path_)};
}

Status ObjectDirectory::create(const std::string& path, const StoreIdentity& identity) {
  ObjectDirectory directory(path);
  if (::mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST)
    return Status::from_errno(errno, "make object store directory " + path);
  TUTTI_TRY(directory.lock());
  const int root = directory.root_.get();
  if (::faccessat(root, "format", F_OK, 0) == 0)
    return {Code::exists, fmt::format("{} holds an object store already: move it away first", path)};
  if (::mkdirat(root, "objects", kDirectoryMode) != 0 && errno == EEXIST &&
      ::unlinkat(root, "objects", AT_REMOVEDIR) != 0) {
    return {
        Code::exists,
        fmt::format("{}/objects holds something, and there is no format file beside it: move it away first",
                    path)};
  }
  TUTTI_TRY(make_directory_at(root, "objects", path));
  return directory.write_format(identity);
}

Status ObjectDirectory::upgrade(const std::string& path, const StoreIdentity& identity) {
  ObjectDirectory directory(path);
  TUTTI_TRY(directory.lock());
  const Status status = directory.read_format();
  if (status.ok()) return {Code::exists, fmt::format("object store {} has the newest format already", path)};
  if (directory.version_ != 1) return status;
  return directory.write_format(identity);
}

Result<ObjectDirectory> ObjectDirectory::open(const std::string& path) {
  ObjectDirectory directory(path);
  if (::access((path + "/format").c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return Status(Code::not_found,
                  fmt::format("there is no object store in {}: is its disk mounted? A new cluster's store is "
                              "made by `tutti server init`",
                              path));
  }
  TUTTI_TRY(directory.lock());
  TUTTI_TRY(directory.read_format());
  directory.objects_ = open_directory_at(directory.root_.get(), "objects");
  if (!directory.objects_.valid()) return Status::from_errno(errno, "open " + path + "/objects");
  TUTTI_TRY(directory.read_newest());
  struct statfs info {};
  directory.on_tmpfs_ = ::fstatfs(directory.root_.get(), &info) == 0 && info.f_type == TMPFS_MAGIC;
  return directory;
}

// Replaces it at once or not at all.
Status ObjectDirectory::write_format(const StoreIdentity& identity) const {
  const FileDescriptor file(
      ::openat(root_.get(), "format.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
  const std::string text =
      fmt::format("{}{}\ncluster 0x{:x}\nserver {}\nuuid {}\nmetadata {}\nreplaces {}\n", kFormatPrefix,
                  kFormatVersion, identity.cluster, identity.server, to_string(identity.uuid),
                  to_string(identity.metadata), identity.replaces ? "yes" : "no");
  const bool written = file.valid() &&
                       ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(file.get()) == 0;
  if (!written || ::renameat(root_.get(), "format.new", root_.get(), "format") != 0 ||
      ::fsync(root_.get()) != 0) {
    return Status::from_errno(errno, "write " + path_ + "/format");
  }
  return {};
}

Status ObjectDirectory::bind(const Uuid& metadata) {
  StoreIdentity bound = identity_;
  bound.metadata = metadata;
  bound.replaces = false;
  TUTTI_TRY(write_format(bound));
  identity_ = bound;
  return {};
}

Status ObjectDirectory::read_format() {
  const FileDescriptor file(::openat(root_.get(), "format", O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text{};
  const ssize_t length = file.valid() ? ::read(file.get(), text.data(), text.size()) : -1;
  if (length < 0) return Status::from_errno(errno, "read " + path_ + "/format");
  std::string_view rest(text.data(), static_cast<std::size_t>(length));
  const Status damaged(
      Code::malformed,
      fmt::format("{}/format does not say what this directory is: not an object store of Tutti, "
                  "or damaged",
                  path_));
  if (!rest.starts_with(kFormatPrefix)) return damaged;
  if (!parse_number(line_after(rest, kFormatPrefix), version_)) return damaged;
  if (version_ == 1) {
    return {Code::version,
            fmt::format("object store {} has format version 1, which does not say whose it is: "
                        "`tutti server upgrade` gives it an identity",
                        path_)};
  }
  if (version_ != kFormatVersion) {
    return {Code::version,
            fmt::format("object store {} has format version {}, this Tutti reads version {}: use the "
                        "release that wrote it, or a newer one",
                        path_, version_, kFormatVersion)};
  }
  const Result<Uuid> uuid = parse_uuid(line_after(rest, "uuid "));
  const Result<Uuid> metadata = parse_uuid(line_after(rest, "metadata "));
  const std::string_view replaces = line_after(rest, "replaces ");
  if (!uuid.ok() || uuid->none() || !metadata.ok() || (replaces != "yes" && replaces != "no") ||
      !parse_number(line_after(rest, "cluster 0x"), identity_.cluster, 16) ||
      !parse_number(line_after(rest, "server "), identity_.server)) {
    return damaged;
  }
  identity_.uuid = *uuid;
  identity_.metadata = *metadata;
  identity_.replaces = replaces == "yes";
  return {};
}

Status ObjectDirectory::read_newest() {
  newest_file_ = FileDescriptor(::openat(root_.get(), "newest", O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
  const ssize_t length =
      newest_file_.valid() ? ::pread(newest_file_.get(), &newest_.value, sizeof(newest_.value), 0) : -1;
  if (length < 0) return Status::from_errno(errno, "read " + path_ + "/newest");
  if (length == sizeof(newest_.value)) return {};
  // A store that was upgraded, or is new.
  std::vector<ObjectId> objects;
  for (std::size_t bucket = 0; bucket < kFanOut; ++bucket) TUTTI_TRY(list_bucket(bucket, objects));
  const auto greatest = std::max_element(objects.begin(), objects.end());
  newest_ = greatest == objects.end() ? ObjectId() : *greatest;
  if (::pwrite(newest_file_.get(), &newest_.value, sizeof(newest_.value), 0) != sizeof(newest_.value))
    return Status::from_errno(errno, "write " + path_ + "/newest");
  return {};
}

// Eight bytes in place need no space: a mark that is not written is a disk that fails, which the object's own write meets.
void ObjectDirectory::note_made(ObjectId object) {
  if (object <= newest_) return;
  newest_ = object;
  [[maybe_unused]] const ssize_t written =
      ::pwrite(newest_file_.get(), &newest_.value, sizeof(newest_.value), 0);
}

std::string ObjectDirectory::path_of(ObjectId object) const {
  return fmt::format("{}/objects/{}", path_, name_of(object));
}

int ObjectDirectory::open_object(ObjectId object, int flags) {
  const std::string name = name_of(object);
  int fd = ::openat(objects_.get(), name.c_str(), flags | O_CLOEXEC, kFileMode);
  if (fd >= 0 && (flags & O_CREAT) != 0) note_made(object);
  if (fd >= 0 || errno != ENOENT || (flags & O_CREAT) == 0) return fd;
  if (::mkdirat(objects_.get(), name.substr(0, 2).c_str(), kDirectoryMode) != 0) return -1;
  ++buckets_made_;
  fd = ::openat(objects_.get(), name.c_str(), flags | O_CLOEXEC, kFileMode);
  if (fd >= 0) note_made(object);
  return fd;
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
