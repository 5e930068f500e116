// The C API of include/tutti/tutti.h: a blocking skin over FileSystem. Nothing but translation happens here.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/version.h"
#include "client/path.h"
#include "client/real/real_client.h"
#include "client/transfer/declared_view.h"
#include "tutti/tutti.h"

using tutti::Bytes;
using tutti::Nanos;
using tutti::Status;

struct tutti_client {
  explicit tutti_client(tutti::RealClientOptions options) : client(std::move(options)) {}
  template <typename T>
  T run(tutti::Task<T> task) {
    return client.run(std::move(task));
  }
  tutti::FileSystem& system() { return client.files(); }

  tutti::RealClient client;
};

struct tutti_file {
  tutti_client& client;
  std::unique_ptr<tutti::OpenFile> file;
};

struct tutti_view {
  tutti_file& file;
  tutti::ViewPointer view;
};

namespace {

// The standard's errno is per thread, and so are our words for it.
thread_local std::string last_error;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

int fail(const Status& status) {
  last_error = status.to_string();
  return -tutti::code_errno(status.code());
}

int outcome(const Status& status) { return status.ok() ? 0 : fail(status); }

int invalid(const char* what) { return fail(Status(tutti::Code::invalid, what)); }

std::string path_of(const char* path) { return tutti::cluster_path(path != nullptr ? path : ""); }

tutti::LayoutWish wish_of(const tutti_layout* layout) {
  tutti::LayoutWish wish;
  if (layout == nullptr) return wish;
  wish.stripe_size = Bytes(layout->stripe_size);
  wish.stripe_count = layout->stripe_count;
  wish.first_server = layout->first_server;
  return wish;
}

void fill(tutti_attributes& out, const tutti::Attributes& in) {
  out = tutti_attributes{};
  out.inode = in.inode;
  out.type = static_cast<int>(in.type);
  out.mode = in.mode;
  out.uid = in.uid;
  out.gid = in.gid;
  out.links = in.links;
  out.size = in.size.count();
  out.accessed_ns = in.accessed.count();
  out.modified_ns = in.modified.count();
  out.changed_ns = in.changed.count();
  out.stripe_size = in.layout.stripe_size.count();
  out.stripe_count = in.layout.stripe_count;
  out.first_server = in.layout.first_server;
  out.server_total = in.layout.server_total;
}

int stat_path(tutti_client* client, const char* path, bool follow, tutti_attributes* attributes) {
  if (client == nullptr || attributes == nullptr)
    return invalid("stat: no client or no place for the attributes");
  const auto found = client->run(client->system().stat(path_of(path), follow));
  if (!found.ok()) return fail(found.status());
  if (!found->size_unknown.ok()) return fail(found->size_unknown);
  fill(*attributes, *found);
  return 0;
}

std::vector<tutti::Extent> extents_of(const tutti_extent* extents, size_t count) {
  std::vector<tutti::Extent> list;
  list.reserve(count);
  for (size_t i = 0; i < count; ++i) list.push_back({Bytes(extents[i].offset), Bytes(extents[i].length)});
  return list;
}

template <typename Byte>
std::vector<std::span<Byte>> memory_of(const iovec* buffers, size_t count) {
  std::vector<std::span<Byte>> list;
  list.reserve(count);
  for (size_t i = 0; i < count; ++i)
    list.emplace_back(static_cast<Byte*>(buffers[i].iov_base), buffers[i].iov_len);
  return list;
}

// Whether `count` parts of a pattern that is `reach` long, `stride` apart, stay within what an offset can be; then
// `reach` is that of all of them.
bool extend(uint64_t count, uint64_t stride, uint64_t& reach) {
  constexpr uint64_t kMost = uint64_t{1} << 62U;
  uint64_t last = 0;
  return count > 0 && !__builtin_mul_overflow(count - 1, stride, &last) && last < kMost && reach < kMost &&
         (reach += last) < kMost;
}

int make_view(tutti_file* file, uint64_t displacement, uint64_t extent, const tutti::FlatType& blocks,
              tutti_view** view) {
  constexpr uint64_t kMost = uint64_t{1} << 62U;
  if (displacement >= kMost || extent >= kMost)
    return invalid("view: the displacement or the extent is too large");
  const auto end = blocks.true_lb() + blocks.true_extent();
  tutti::FileView shown{
      static_cast<int64_t>(displacement), 1,
      tutti::FlatType::resized(0, extent == 0 ? end : static_cast<int64_t>(extent), blocks)};
  if (const Status valid = shown.validate(false); !valid.ok()) return fail(valid);
  *view = new (std::nothrow) tutti_view{*file, file->file->declare(std::move(shown))};
  return *view != nullptr ? 0 : -ENOMEM;
}

int change_attributes(tutti_client* client, const char* path, const tutti::AttributeChange& change) {
  if (client == nullptr) return invalid("set attributes: no client");
  return outcome(client->run(client->system().set_attributes(path_of(path), change)));
}

}  // namespace

extern "C" {

const char* tutti_version(void) { return TUTTI_VERSION; }

const char* tutti_error(void) { return last_error.c_str(); }

int tutti_connect(const char* cluster_file, const tutti_options* options, tutti_client** client) {
  if (client == nullptr) return invalid("connect: no place for the client");
  tutti::RealClientOptions wanted;
  if (cluster_file != nullptr) wanted.cluster.file = cluster_file;
  if (options != nullptr) {
    if (options->application != 0) wanted.application = std::to_string(options->application);
    if (options->patience_ms != 0) wanted.patience = tutti::patience_of_milliseconds(options->patience_ms);
    if (options->job != nullptr) wanted.job = options->job;
  }
  wanted.log = tutti::client_log("tutti", std::nullopt, wanted.environment);
  std::unique_ptr<tutti_client> made(new (std::nothrow) tutti_client(std::move(wanted)));
  if (!made) return -ENOMEM;
  if (const Status connected = made->client.connect(); !connected.ok()) return fail(connected);
  *client = made.release();
  return 0;
}

void tutti_disconnect(tutti_client* client) { delete client; }

int tutti_open(tutti_client* client, const char* path, int flags, mode_t mode, const tutti_layout* layout,
               tutti_file** file) {
  if (client == nullptr || file == nullptr) return invalid("open: no client or no place for the file");
  tutti::OpenOptions options;
  const int access = flags & O_ACCMODE;
  options.read = access == O_RDONLY || access == O_RDWR;
  options.write = access == O_WRONLY || access == O_RDWR;
  options.create = (flags & O_CREAT) != 0;
  options.exclusive = (flags & O_EXCL) != 0;
  options.truncate = (flags & O_TRUNC) != 0;
  options.mode = mode;
  options.layout = wish_of(layout);
  auto opened = client->run(client->system().open(path_of(path), options));
  if (!opened.ok()) return fail(opened.status());
  *file = new (std::nothrow) tutti_file{*client, *std::move(opened)};
  return *file != nullptr ? 0 : -ENOMEM;
}

int tutti_close(tutti_file* file) {
  if (file == nullptr) return 0;
  const std::unique_ptr<tutti_file> owned(file);
  return outcome(file->client.run(file->file->close()));
}

ssize_t tutti_pread(tutti_file* file, void* buffer, size_t length, uint64_t offset) {
  if (file == nullptr) return invalid("read: no file");
  const std::span<std::byte> memory(static_cast<std::byte*>(buffer), length);
  const auto got = file->client.run(file->file->read(Bytes(offset), memory));
  return got.ok() ? static_cast<ssize_t>(got->count()) : fail(got.status());
}

ssize_t tutti_pwrite(tutti_file* file, const void* buffer, size_t length, uint64_t offset) {
  if (file == nullptr) return invalid("write: no file");
  const std::span<const std::byte> memory(static_cast<const std::byte*>(buffer), length);
  const Status status = file->client.run(file->file->write(Bytes(offset), memory));
  return status.ok() ? static_cast<ssize_t>(length) : fail(status);
}

ssize_t tutti_read_list(tutti_file* file, const tutti_extent* extents, size_t extent_count,
                        const iovec* buffers, size_t buffer_count) {
  if (file == nullptr) return invalid("read: no file");
  const auto list = extents_of(extents, extent_count);
  const auto memory = memory_of<std::byte>(buffers, buffer_count);
  const auto got = file->client.run(file->file->read_list(list, memory));
  return got.ok() ? static_cast<ssize_t>(got->count()) : fail(got.status());
}

ssize_t tutti_write_list(tutti_file* file, const tutti_extent* extents, size_t extent_count,
                         const iovec* buffers, size_t buffer_count) {
  if (file == nullptr) return invalid("write: no file");
  const auto list = extents_of(extents, extent_count);
  const auto memory = memory_of<const std::byte>(buffers, buffer_count);
  const Status status = file->client.run(file->file->write_list(list, memory));
  if (!status.ok()) return fail(status);
  ssize_t sum = 0;
  for (const auto& piece : memory) sum += static_cast<ssize_t>(piece.size());
  return sum;
}

int tutti_view_strided(tutti_file* file, uint64_t displacement, uint64_t block, const tutti_level* levels,
                       size_t level_count, uint64_t extent, tutti_view** view) {
  if (file == nullptr || view == nullptr) return invalid("view: no file or no place for the view");
  uint64_t reach = 0;
  if (!extend(2, block, reach)) return invalid("view: the blocks are too large");
  tutti::FlatType type = tutti::FlatType::bytes(static_cast<int64_t>(block));
  uint64_t bytes = block;
  for (size_t i = 0; i < level_count; ++i) {
    const tutti_level& level = levels[i];
    if (!extend(level.count, level.stride, reach) || __builtin_mul_overflow(bytes, level.count, &bytes) ||
        bytes > reach) {
      return invalid(
          "view: a level has no parts, or reaches past the largest offset, or overlaps throughout");
    }
    type = tutti::FlatType::vector(static_cast<int64_t>(level.count), 1, static_cast<int64_t>(level.stride),
                                   type);
  }
  return make_view(file, displacement, extent, type, view);
}

int tutti_view_blocks(tutti_file* file, uint64_t displacement, const tutti_extent* blocks, size_t block_count,
                      uint64_t extent, tutti_view** view) {
  if (file == nullptr || view == nullptr) return invalid("view: no file or no place for the view");
  std::vector<int64_t> lengths;
  std::vector<int64_t> places;
  for (size_t i = 0; i < block_count; ++i) {
    uint64_t reach = blocks[i].length;
    if (!extend(2, blocks[i].offset, reach)) return invalid("view: a block lies past the largest offset");
    lengths.push_back(static_cast<int64_t>(blocks[i].length));
    places.push_back(static_cast<int64_t>(blocks[i].offset));
  }
  return make_view(file, displacement, extent,
                   tutti::FlatType::indexed(lengths, places, tutti::FlatType::bytes(1)), view);
}

void tutti_view_free(tutti_view* view) { delete view; }

ssize_t tutti_view_read(tutti_view* view, void* buffer, size_t length, uint64_t offset) {
  if (view == nullptr) return invalid("read: no view");
  const std::span<std::byte> memory(static_cast<std::byte*>(buffer), length);
  const auto got = view->file.client.run(view->file.file->read_view(view->view, Bytes(offset), memory));
  return got.ok() ? static_cast<ssize_t>(got->count()) : fail(got.status());
}

ssize_t tutti_view_write(tutti_view* view, const void* buffer, size_t length, uint64_t offset) {
  if (view == nullptr) return invalid("write: no view");
  if (!view->view->view().validate(true).ok() || !view->view->view().ascending())
    return invalid("write: the view overlaps itself, or may: it is for reading only");
  const std::span<const std::byte> memory(static_cast<const std::byte*>(buffer), length);
  const Status status = view->file.client.run(view->file.file->write_view(view->view, Bytes(offset), memory));
  return status.ok() ? static_cast<ssize_t>(length) : fail(status);
}

int tutti_fsync(tutti_file* file) {
  if (file == nullptr) return invalid("sync: no file");
  return outcome(file->client.run(file->file->sync()));
}

int tutti_ftruncate(tutti_file* file, uint64_t length) {
  if (file == nullptr) return invalid("truncate: no file");
  return outcome(file->client.run(file->file->truncate(Bytes(length))));
}

int tutti_fstat(tutti_file* file, tutti_attributes* attributes) {
  if (file == nullptr || attributes == nullptr)
    return invalid("stat: no file or no place for the attributes");
  const auto size = file->client.run(file->file->size());
  if (!size.ok()) return fail(size.status());
  fill(*attributes, file->file->attributes());
  attributes->size = size->count();
  return 0;
}

int tutti_stat(tutti_client* client, const char* path, tutti_attributes* attributes) {
  return stat_path(client, path, true, attributes);
}

int tutti_lstat(tutti_client* client, const char* path, tutti_attributes* attributes) {
  return stat_path(client, path, false, attributes);
}

int tutti_truncate(tutti_client* client, const char* path, uint64_t length) {
  if (client == nullptr) return invalid("truncate: no client");
  return outcome(client->run(client->system().truncate(path_of(path), Bytes(length))));
}

int tutti_unlink(tutti_client* client, const char* path) {
  if (client == nullptr) return invalid("unlink: no client");
  return outcome(client->run(client->system().unlink(path_of(path))));
}

int tutti_rename(tutti_client* client, const char* from, const char* to) {
  if (client == nullptr) return invalid("rename: no client");
  return outcome(client->run(client->system().rename(path_of(from), path_of(to))));
}

int tutti_link(tutti_client* client, const char* from, const char* to) {
  if (client == nullptr) return invalid("link: no client");
  return outcome(client->run(client->system().link(path_of(from), path_of(to))));
}

int tutti_symlink(tutti_client* client, const char* target, const char* path) {
  if (client == nullptr || target == nullptr) return invalid("symlink: no client or no target");
  return outcome(client->run(client->system().symlink(target, path_of(path))));
}

ssize_t tutti_readlink(tutti_client* client, const char* path, char* buffer, size_t length) {
  if (client == nullptr) return invalid("readlink: no client");
  const auto found = client->run(client->system().stat(path_of(path), false));
  if (!found.ok()) return fail(found.status());
  if (found->type != tutti::FileType::symlink) return invalid("readlink: not a symbolic link");
  const size_t count = std::min(length, found->target.size());
  std::memcpy(buffer, found->target.data(), count);
  return static_cast<ssize_t>(count);
}

int tutti_mkdir(tutti_client* client, const char* path, mode_t mode, const tutti_layout* layout) {
  if (client == nullptr) return invalid("mkdir: no client");
  return outcome(client->run(client->system().make_directory(path_of(path), mode, wish_of(layout))));
}

int tutti_rmdir(tutti_client* client, const char* path) {
  if (client == nullptr) return invalid("rmdir: no client");
  return outcome(client->run(client->system().remove_directory(path_of(path))));
}

int tutti_list(tutti_client* client, const char* path,
               int (*visit)(const char* name, int type, uint64_t inode, void* context), void* context) {
  if (client == nullptr || visit == nullptr) return invalid("list: no client or nobody to tell");
  const auto entries = client->run(client->system().list(path_of(path), false));
  if (!entries.ok()) return fail(entries.status());
  for (const auto& entry : *entries) {
    if (const int answer = visit(entry.name.c_str(), static_cast<int>(entry.type), entry.inode, context);
        answer != 0) {
      return answer;
    }
  }
  return 0;
}

int tutti_chmod(tutti_client* client, const char* path, mode_t mode) {
  tutti::AttributeChange change;
  change.mode = mode;
  return change_attributes(client, path, change);
}

int tutti_chown(tutti_client* client, const char* path, uid_t uid, gid_t gid) {
  tutti::AttributeChange change;
  if (uid != static_cast<uid_t>(-1)) change.uid = uid;
  if (gid != static_cast<gid_t>(-1)) change.gid = gid;
  return change_attributes(client, path, change);
}

int tutti_utimes(tutti_client* client, const char* path, int64_t accessed_ns, int64_t modified_ns) {
  tutti::AttributeChange change;
  change.accessed = Nanos(accessed_ns);
  change.modified = Nanos(modified_ns);
  return change_attributes(client, path, change);
}

int tutti_space(tutti_client* client, uint64_t* total, uint64_t* free_bytes) {
  if (client == nullptr || total == nullptr || free_bytes == nullptr)
    return invalid("space: no client or no place");
  const auto space = client->run(client->system().space());
  if (!space.ok()) return fail(space.status());
  *total = space->total.count();
  *free_bytes = space->free.count();
  return 0;
}

}  // extern "C"
