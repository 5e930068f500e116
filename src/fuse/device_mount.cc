#include "fuse/device_mount.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "env/scope.h"
#include "fuse/name_tree.h"
#include "fuse/session.h"

namespace tutti {
namespace {

// Nobody but the kernel of this host changes anything, so it may trust what it was told for long.
constexpr double kTrust = 60.0;
constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kWritable = 1;  // in fuse_file_info::fh

timespec time_of(Nanos nanos) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const auto count = static_cast<std::uint64_t>(nanos.count());
  return {static_cast<time_t>(count / kSecond), static_cast<long>(count % kSecond)};
}

Nanos nanos_of(const timespec& time) {
  return Nanos(static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec);
}

struct stat attributes_of(const Inode& inode) {
  struct stat info {};
  info.st_ino = inode.number;
  info.st_mode = inode.mode;
  info.st_nlink = inode.links;
  info.st_uid = inode.uid;
  info.st_gid = inode.gid;
  info.st_size = static_cast<off_t>(inode.length.count());
  info.st_blksize = static_cast<blksize_t>(kBlock);
  info.st_blocks = static_cast<blkcnt_t>((inode.length.count() + 511) / 512);
  info.st_mtim = time_of(inode.modified);
  info.st_ctim = time_of(inode.changed);
  info.st_atim = time_of(inode.accessed);
  return info;
}

}  // namespace

// The operations are static functions that find it by fuse_req_userdata().
class DeviceMount::Impl {
 public:
  Impl(Loop& loop, Store& store, DeviceMountOptions options)
      : clock_(loop.clock()),
        store_(store),
        options_(options),
        tree_(Maker{::geteuid(), ::getegid(), clock_.wall()},
              [this](std::uint64_t number) { scope_.spawn(remove(number)); }),
        scope_(loop.executor()) {}

  Status mount(Loop& loop, const std::string& directory) {
    auto session = FuseSession::mount(loop, directory, operations(), this);
    if (!session.ok()) return session.status();
    session_ = *std::move(session);
    return {};
  }
  Task<Status> serve() { return session_->serve(); }

 private:
  static fuse_lowlevel_ops operations();
  static Impl& of(fuse_req_t request) { return *static_cast<Impl*>(fuse_req_userdata(request)); }
  static void reply(fuse_req_t request, int error) { fuse_reply_err(request, error); }

  [[nodiscard]] Maker maker(fuse_req_t request) const {
    const fuse_ctx* context = fuse_req_ctx(request);
    return {context->uid, context->gid, clock_.wall()};
  }
  static fuse_entry_param entry_of(Inode& inode) {
    NameTree::looked_up(inode);
    fuse_entry_param entry{};
    entry.ino = inode.number;
    entry.attr = attributes_of(inode);
    entry.attr_timeout = entry.entry_timeout = kTrust;
    return entry;
  }
  static void reply_entry(fuse_req_t request, Inode& inode) {
    const fuse_entry_param entry = entry_of(inode);
    fuse_reply_entry(request, &entry);
  }
  static void open(Inode& inode, fuse_file_info& info) {
    NameTree::opened(inode);
    info.direct_io = 1;
    info.fh = (info.flags & O_ACCMODE) != O_RDONLY ? kWritable : 0;
  }

  // Each answers its request. Writes and changes of the length of one file come one after the other: the kernel holds the
  // inode's lock for both.
  Task<void> read(fuse_req_t request, std::uint64_t number, Bytes length, Bytes offset);
  Task<void> write(fuse_req_t request, std::uint64_t number, std::vector<std::byte> bytes, Bytes offset);
  Task<void> sync(fuse_req_t request, std::uint64_t number);
  Task<void> truncate(fuse_req_t request, std::uint64_t number, Bytes length);
  Task<void> remove(std::uint64_t number) { (co_await store_.remove(ObjectId{number})).ignore(); }
  void set_attributes(Inode& inode, const struct stat& wanted, int which);

  Clock& clock_;
  Store& store_;
  DeviceMountOptions options_;
  NameTree tree_;
  std::unique_ptr<FuseSession> session_;
  Scope scope_;  // ends before the session, so that nobody answers on one that is gone
};

Task<void> DeviceMount::Impl::read(fuse_req_t request, std::uint64_t number, Bytes length, Bytes offset) {
  std::vector<std::byte> bytes(length.count());
  MemorySink sink(bytes);
  const Result<Bytes> got = co_await store_.read(ObjectId{number}, offset, length, sink);
  if (!got.ok()) co_return reply(request, code_errno(got.code()));
  fuse_reply_buf(request, reinterpret_cast<const char*>(bytes.data()), got->count());
}

Task<void> DeviceMount::Impl::write(fuse_req_t request, std::uint64_t number, std::vector<std::byte> bytes,
                                    Bytes offset) {
  const Bytes length(bytes.size());
  MemorySource source(bytes);
  const Status status = co_await store_.write(ObjectId{number}, offset, length, source);
  if (!status.ok()) co_return reply(request, code_errno(status.code()));
  if (Inode* inode = tree_.find(number)) {
    inode->length = std::max(inode->length, offset + length);
    inode->modified = inode->changed = clock_.wall();
  }
  fuse_reply_write(request, bytes.size());
}

Task<void> DeviceMount::Impl::sync(fuse_req_t request, std::uint64_t number) {
  const Status status = co_await store_.sync(ObjectId{number});
  reply(request, status.ok() ? 0 : code_errno(status.code()));
}

Task<void> DeviceMount::Impl::truncate(fuse_req_t request, std::uint64_t number, Bytes length) {
  const Status status = co_await store_.truncate(ObjectId{number}, length);
  Inode* inode = tree_.find(number);
  if (!status.ok()) co_return reply(request, code_errno(status.code()));
  if (inode == nullptr) co_return reply(request, ENOENT);
  inode->length = length;
  inode->modified = inode->changed = clock_.wall();
  const struct stat info = attributes_of(*inode);
  fuse_reply_attr(request, &info, kTrust);
}

void DeviceMount::Impl::set_attributes(Inode& inode, const struct stat& wanted, int which) {
  const Nanos now = clock_.wall();
  if ((which & FUSE_SET_ATTR_MODE) != 0) inode.mode = (inode.mode & S_IFMT) | (wanted.st_mode & ~S_IFMT);
  if ((which & FUSE_SET_ATTR_UID) != 0) inode.uid = wanted.st_uid;
  if ((which & FUSE_SET_ATTR_GID) != 0) inode.gid = wanted.st_gid;
  if ((which & FUSE_SET_ATTR_ATIME) != 0) inode.accessed = nanos_of(wanted.st_atim);
  if ((which & FUSE_SET_ATTR_MTIME) != 0) inode.modified = nanos_of(wanted.st_mtim);
  if ((which & FUSE_SET_ATTR_ATIME_NOW) != 0) inode.accessed = now;
  if ((which & FUSE_SET_ATTR_MTIME_NOW) != 0) inode.modified = now;
  inode.changed = now;
}

fuse_lowlevel_ops DeviceMount::Impl::operations() {
  fuse_lowlevel_ops ops{};
  ops.lookup = [](fuse_req_t request, fuse_ino_t parent, const char* name) {
    Inode* inode = of(request).tree_.child(parent, name);
    if (inode == nullptr) return reply(request, ENOENT);
    reply_entry(request, *inode);
  };
  ops.forget = [](fuse_req_t request, fuse_ino_t number, std::uint64_t lookups) {
    of(request).tree_.forget(number, lookups);
    fuse_reply_none(request);
  };
  ops.getattr = [](fuse_req_t request, fuse_ino_t number, fuse_file_info* /*info*/) {
    const Inode* inode = of(request).tree_.find(number);
    if (inode == nullptr) return reply(request, ENOENT);
    const struct stat info = attributes_of(*inode);
    fuse_reply_attr(request, &info, kTrust);
  };
  ops.setattr = [](fuse_req_t request, fuse_ino_t number, struct stat* wanted, int which,
                   fuse_file_info* /*info*/) {
    Impl& self = of(request);
    Inode* inode = self.tree_.find(number);
    if (inode == nullptr) return reply(request, ENOENT);
    self.set_attributes(*inode, *wanted, which);
    if ((which & FUSE_SET_ATTR_SIZE) != 0) {
      return self.scope_.spawn(
          self.truncate(request, number, Bytes(static_cast<std::uint64_t>(wanted->st_size))));
    }
    const struct stat info = attributes_of(*inode);
    fuse_reply_attr(request, &info, kTrust);
  };
  ops.mkdir = [](fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
    Inode* made = nullptr;
    Impl& self = of(request);
    if (const int error = self.tree_.make(parent, name, S_IFDIR | mode, self.maker(request), made))
      return reply(request, error);
    reply_entry(request, *made);
  };
  ops.mknod = [](fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t /*device*/) {
    Inode* made = nullptr;
    Impl& self = of(request);
    if (!S_ISREG(mode)) return reply(request, EPERM);
    if (const int error = self.tree_.make(parent, name, mode, self.maker(request), made))
      return reply(request, error);
    reply_entry(request, *made);
  };
  ops.symlink = [](fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
    Inode* made = nullptr;
    Impl& self = of(request);
    if (const int error = self.tree_.make(parent, name, S_IFLNK | 0777, self.maker(request), made))
      return reply(request, error);
    made->target = target;
    made->length = Bytes(made->target.size());
    reply_entry(request, *made);
  };
  ops.readlink = [](fuse_req_t request, fuse_ino_t number) {
    const Inode* inode = of(request).tree_.find(number);
    if (inode == nullptr) return reply(request, ENOENT);
    fuse_reply_readlink(request, inode->target.c_str());
  };
  ops.link = [](fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char* name) {
    Impl& self = of(request);
    if (const int error = self.tree_.link(number, parent, name, self.clock_.wall()))
      return reply(request, error);
    reply_entry(request, *self.tree_.find(number));
  };
  ops.unlink = [](fuse_req_t request, fuse_ino_t parent, const char* name) {
    Impl& self = of(request);
    reply(request, self.tree_.unlink(parent, name, self.clock_.wall()));
  };
  ops.rmdir = [](fuse_req_t request, fuse_ino_t parent, const char* name) {
    Impl& self = of(request);
    reply(request, self.tree_.remove_directory(parent, name, self.clock_.wall()));
  };
  ops.rename = [](fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t into,
                  const char* new_name, unsigned flags) {
    Impl& self = of(request);
    if ((flags & ~static_cast<unsigned>(RENAME_NOREPLACE)) != 0) return reply(request, EINVAL);
    const bool keep = (flags & RENAME_NOREPLACE) != 0;
    reply(request, self.tree_.rename(parent, name, into, new_name, keep, self.clock_.wall()));
  };
  ops.create = [](fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
                  fuse_file_info* info) {
    Inode* made = nullptr;
    Impl& self = of(request);
    if (const int error = self.tree_.make(parent, name, S_IFREG | mode, self.maker(request), made))
      return reply(request, error);
    open(*made, *info);
    const fuse_entry_param entry = entry_of(*made);
    fuse_reply_create(request, &entry, info);
  };
  // Opening does not cut a file: the kernel asks for that by itself then.
  ops.init = [](void* /*mount*/, fuse_conn_info* connection) {
    connection->want &= ~static_cast<unsigned>(FUSE_CAP_ATOMIC_O_TRUNC);
  };
  ops.open = [](fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
    Inode* inode = of(request).tree_.find(number);
    if (inode == nullptr) return reply(request, ENOENT);
    open(*inode, *info);
    fuse_reply_open(request, info);
  };
  ops.release = [](fuse_req_t request, fuse_ino_t number, fuse_file_info* /*info*/) {
    of(request).tree_.closed(number);
    reply(request, 0);
  };
  ops.read = [](fuse_req_t request, fuse_ino_t number, std::size_t length, off_t offset,
                fuse_file_info* /*info*/) {
    Impl& self = of(request);
    self.scope_.spawn(self.read(request, number, Bytes(length), Bytes(static_cast<std::uint64_t>(offset))));
  };
  ops.write = [](fuse_req_t request, fuse_ino_t number, const char* bytes, std::size_t length, off_t offset,
                 fuse_file_info* /*info*/) {
    Impl& self = of(request);
    const auto* begin = reinterpret_cast<const std::byte*>(bytes);
    self.scope_.spawn(self.write(request, number, std::vector<std::byte>(begin, begin + length),
                                 Bytes(static_cast<std::uint64_t>(offset))));
  };
  ops.flush = [](fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
    Impl& self = of(request);
    if (!self.options_.flush_at_close || info->fh != kWritable) return reply(request, 0);
    self.scope_.spawn(self.sync(request, number));
  };
  ops.fsync = [](fuse_req_t request, fuse_ino_t number, int /*data_only*/, fuse_file_info* /*info*/) {
    Impl& self = of(request);
    self.scope_.spawn(self.sync(request, number));
  };
  ops.readdir = [](fuse_req_t request, fuse_ino_t number, std::size_t room, off_t from,
                   fuse_file_info* /*info*/) {
    Impl& self = of(request);
    const Inode* directory = self.tree_.find(number);
    if (directory == nullptr || !directory->directory()) return reply(request, ENOTDIR);
    std::vector<char> page(room);
    std::size_t used = 0;
    off_t place = 0;
    // False when the page is full.
    const auto add = [&](const char* name, std::uint64_t inode, mode_t mode) {
      if (++place <= from) return true;
      struct stat info {};
      info.st_ino = inode;
      info.st_mode = mode;
      const std::size_t takes =
          fuse_add_direntry(request, page.data() + used, room - used, name, &info, place);
      if (takes > room - used) return false;
      used += takes;
      return true;
    };
    bool more = add(".", number, S_IFDIR) && add("..", directory->parent, S_IFDIR);
    for (auto each = directory->children.begin(); more && each != directory->children.end(); ++each)
      more = add(each->first.c_str(), each->second, self.tree_.find(each->second)->mode);
    fuse_reply_buf(request, page.data(), used);
  };
  ops.statfs = [](fuse_req_t request, fuse_ino_t /*number*/) {
    Impl& self = of(request);
    const Result<StoreSpace> space = self.store_.space();
    if (!space.ok()) return reply(request, code_errno(space.code()));
    struct statvfs info {};
    info.f_bsize = info.f_frsize = kBlock;
    info.f_blocks = space->total.count() / kBlock;
    info.f_bfree = info.f_bavail = space->free.count() / kBlock;
    info.f_namemax = NameTree::kLongestName;
    fuse_reply_statfs(request, &info);
  };
  return ops;
}

Result<std::unique_ptr<DeviceMount>> DeviceMount::create(Loop& loop, Store& store,
                                                         const std::string& directory,
                                                         DeviceMountOptions options) {
  auto impl = std::make_unique<Impl>(loop, store, options);
  TUTTI_TRY(impl->mount(loop, directory));
  return std::unique_ptr<DeviceMount>(new DeviceMount(std::move(impl)));
}

DeviceMount::DeviceMount(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceMount::~DeviceMount() = default;

Task<Status> DeviceMount::serve() { return impl_->serve(); }

}  // namespace tutti
