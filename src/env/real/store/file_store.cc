#include "env/real/store/file_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "env/combine.h"
#include "env/real/network/shared_descriptor.h"
#include "env/real/store/buffer_pool.h"
#include "env/real/store/change_marks.h"
#include "env/real/store/file_cache.h"
#include "env/real/store/loss_record.h"
#include "env/real/store/object_directory.h"
#include "env/real/store/object_file.h"
#include "env/real/store/uring.h"
#include "env/rounds.h"

namespace tutti {
namespace {

// Keys of shared objects come after these: 1 is that of no file.
constexpr std::uint64_t kMarksKey = 2;
constexpr auto kLongest = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

// What the kernel said to a request not to wait, when it would have to or never does it that way.
bool would_wait(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EOPNOTSUPP || errno == EINVAL);
}

ssize_t write_at(int fd, std::span<const std::byte> from, std::uint64_t offset, int flags) {
  const iovec part{const_cast<std::byte*>(from.data()), from.size()};
  return ::pwritev2(fd, &part, 1, static_cast<off_t>(offset), flags);
}

ssize_t read_at(int fd, std::span<std::byte> into, std::uint64_t offset, int flags) {
  const iovec part{into.data(), into.size()};
  return ::preadv2(fd, &part, 1, static_cast<off_t>(offset), flags);
}

}  // namespace

class FileStore::Impl {
 public:
  Impl(Loop& loop, ObjectDirectory directory, LossRecord losses, FileStoreOptions options)
      : loop_(loop),
        options_(std::move(options)),
        directory_(std::move(directory)),
        losses_(std::move(losses)),
        mapped_(options_.map && directory_.on_tmpfs()),
        files_(loop.executor(), directory_, std::max<std::size_t>(options_.open_files, 1)),
        buffers_(loop.executor(), options_.buffers, options_.buffer_size),
        scope_(loop.executor()) {
    for (auto& each : name_syncs_) each = std::make_shared<Rounds>();
  }
  ~Impl() {
    scope_.cancel();
    uring_.reset();  // the kernel's last answers need everything else
  }

  void start();
  [[nodiscard]] StoreTraits traits() const;
  Task<Result<ReadResult>> read(ObjectId object, std::span<const Extent> extents, Sink& sink);
  Task<Status> write(ObjectId object, std::span<const Extent> extents, Source& source);
  Task<Status> truncate(ObjectId object, Bytes length);
  Task<Status> sync(ObjectId object);
  [[nodiscard]] std::uint64_t losses(ObjectId object) const { return losses_.count(object); }
  Task<Status> remove(ObjectId object);
  Result<std::optional<Bytes>> length(ObjectId object);
  Result<std::optional<Bytes>> next_data(ObjectId object, Bytes offset);
  Task<void> prefetch(ObjectId object, std::span<const Extent> extents);
  [[nodiscard]] static bool seem_in_memory(const ObjectFile& file, std::span<const Extent> extents);
  Task<int> fetch(std::shared_ptr<ObjectFile> file, Extent extent);
  Result<std::optional<Bytes>> locate(ObjectId object, Bytes offset);
  std::optional<DeviceStretch> probe(ObjectId object, Extent extent);
  Task<Result<std::vector<ObjectId>>> list();
  Result<StoreSpace> space();
  // An object that is open has its inode in memory; whether that of another one is too shows when it is asked for.
  [[nodiscard]] bool cold(ObjectId object) const {
    return uring_ != nullptr && files_.find(object) == nullptr;
  }
  Task<void> warm(ObjectId object);
  SharedObject share(ObjectId object);
  WritableObject share_for_writing(ObjectId object);
  [[nodiscard]] bool mapped() const { return mapped_; }
  [[nodiscard]] ObjectDirectory& directory() { return directory_; }

 private:
  // A write that may lengthen the file. Held until the kernel is done with it, even when its caller is gone.
  struct WriteTurn {
    WriteTurn(Impl& store, std::shared_ptr<ObjectFile> file) : store(store), file(std::move(file)) {
      ++this->file->writers;
    }
    WriteTurn(const WriteTurn&) = delete;
    WriteTurn& operator=(const WriteTurn&) = delete;
    ~WriteTurn() { store.end_write(*file); }
    Impl& store;
    std::shared_ptr<ObjectFile> file;
  };
  struct KeptWrite {
    std::shared_ptr<std::byte> buffer;
    std::shared_ptr<WriteTurn> turn;
  };

  // What is written is to be synced, also if a sync began meanwhile; not on tmpfs, where no sync fails.
  struct Unsynced {
    Unsynced(const Impl& store, ObjectFile& file) : file(file), value(!store.directory_.on_tmpfs()) {
      file.unsynced = value;
    }
    Unsynced(const Unsynced&) = delete;
    Unsynced& operator=(const Unsynced&) = delete;
    ~Unsynced() { file.unsynced = value; }
    ObjectFile& file;
    bool value;
  };

  static std::optional<DeviceStretch> ask_place(const ObjectFile& file, Bytes offset);
  // Whether others may write the object by themselves.
  [[nodiscard]] bool written_by_others(ObjectId object) const {
    return marks_ != nullptr && marks_->shared(object);
  }
  // Sees what others have made of its length.
  void look_at_length(ObjectFile& file) const;
  void end_write(ObjectFile& file);
  // Both move the next bytes of the walk, as many as a buffer holds, and let it pass them.
  Task<Status> write_buffered(std::shared_ptr<WriteTurn> turn, ExtentWalk& walk, Source& source);
  Task<Status> read_buffered(std::shared_ptr<ObjectFile> file, ExtentWalk& walk, ReadResult& result,
                             Sink& sink);
  Task<Status> write_piece(ObjectFile& file, std::span<const std::byte> piece, std::uint64_t offset,
                           const KeptWrite& kept);
  Task<Result<std::size_t>> read_piece(std::shared_ptr<ObjectFile> file, std::shared_ptr<std::byte> buffer,
                                       std::span<std::byte> piece, std::uint64_t offset);
  Task<Status> sync_descriptor(int fd, bool data_only, std::shared_ptr<void> kept, ObjectId object);
  Task<Status> sync_once(std::shared_ptr<ObjectFile> file);
  Task<Status> sync_names(ObjectId object);
  Task<Status> sync_names_once(ObjectId object);
  Status unlink(ObjectId object);
  Status failure(const char* what, ObjectId object, int error) const;

  Loop& loop_;
  FileStoreOptions options_;
  ObjectDirectory directory_;
  LossRecord losses_;
  bool mapped_;
  bool write_without_waiting_ = true;  // until the file system says that it never does
  FileCache files_;
  BufferPool buffers_;
  std::array<std::uint64_t, ObjectDirectory::kFanOut> synced_names_{};  // as names_changed() counts
  std::array<std::shared_ptr<Rounds>, ObjectDirectory::kFanOut> name_syncs_;
  std::uint64_t synced_buckets_ = 0;
  std::uint64_t last_key_ = kMarksKey;
  std::unique_ptr<ChangeMarks> marks_;  // null: nobody else writes
  std::unique_ptr<Uring> uring_;        // null: operations that must wait block
  Scope scope_;                         // of syncs, which go on without those who asked
};

void FileStore::Impl::start() {
  if (mapped_) marks_ = ChangeMarks::make();
  if (!options_.io_uring || directory_.on_tmpfs()) return;  // tmpfs never waits
  Result<std::unique_ptr<Uring>> made = Uring::open(loop_);
  if (made.ok()) {
    uring_ = *std::move(made);
  } else {
    options_.log.warn("{}: operations that wait for the device hold up all others", made.status().message());
  }
}

StoreTraits FileStore::Impl::traits() const {
  StoreTraits traits;
  traits.in_memory = mapped_;
  traits.shareable = mapped_;
  traits.writable = marks_ != nullptr;
  traits.cold = uring_ != nullptr;
  traits.addresses = !directory_.on_tmpfs();
  return traits;
}

Status FileStore::Impl::failure(const char* what, ObjectId object, int error) const {
  return Status::from_errno(
      error, fmt::format("{} object {:016x} ({})", what, object.value, directory_.path_of(object)));
}

void FileStore::Impl::look_at_length(ObjectFile& file) const {
  struct stat info {};
  if (written_by_others(file.id) && ::fstat(file.fd.get(), &info) == 0)
    file.length = static_cast<std::uint64_t>(info.st_size);
}

// --- writing ---

Task<Status> FileStore::Impl::write(ObjectId object, std::span<const Extent> extents, Source& source) {
  std::uint64_t end = 0;
  for (const Extent& extent : extents) {
    if (extent.offset.count() > kLongest || extent.length.count() > kLongest - extent.offset.count()) {
      co_return Status(Code::too_large,
                       fmt::format("write object {:016x} past the longest file", object.value));
    }
    if (extent.length > 0_B) end = std::max(end, extent.end().count());
  }
  Result<std::shared_ptr<ObjectFile>> file = files_.open(object, true);
  if (!file.ok()) co_return file.status();
  const Unsynced unsynced(*this, **file);
  look_at_length(**file);
  std::shared_ptr<WriteTurn> turn;
  ExtentWalk walk(extents);
  if (walk.done()) turn = std::make_shared<WriteTurn>(*this, *file);  // the object is made all the same
  while (!walk.done()) {
    if (mapped_) {
      const MappedRanges<std::byte> ranges(*file, walk.whole());
      if (!ranges.empty()) {
        TUTTI_CO_TRY(co_await source.fill(walk.at(), ranges.places()));
        for (std::size_t i = 0; i < ranges.places().size(); ++i) walk.next(Bytes::max());
        continue;
      }
    }
    if (turn == nullptr) turn = std::make_shared<WriteTurn>(*this, *file);
    TUTTI_CO_TRY(co_await write_buffered(turn, walk, source));
  }
  if (turn == nullptr) co_return Status();  // nothing but bytes has changed
  (*file)->uncommitted = false;
  (*file)->length = std::max((*file)->length, end);
  co_return Status();
}

// The last one out cuts off what failed writes have left past the end.
void FileStore::Impl::end_write(ObjectFile& file) {
  if (--file.writers > 0) return;
  look_at_length(file);
  if (file.reach > file.length) {
    if (const int error = file.cut(file.length); error != 0) {
      options_.log.error("{}", failure("cut back after a failed write:", file.id, error).message());
    }
  }
  file.reach = 0;
  if (file.uncommitted && files_.find(file.id).get() == &file) {
    unlink(file.id).ignore();
  }
}

Task<Status> FileStore::Impl::write_buffered(std::shared_ptr<WriteTurn> turn, ExtentWalk& walk,
                                             Source& source) {
  Result<std::shared_ptr<std::byte>> buffer = co_await buffers_.acquire();
  if (!buffer.ok()) co_return buffer.status();
  Bytes count;
  for (ExtentWalk ahead = walk; !ahead.done() && count < Bytes(buffers_.size());)
    count += ahead.next(Bytes(buffers_.size()) - count).length;
  std::span<std::byte> piece(buffer->get(), count.count());
  TUTTI_CO_TRY(co_await source.fill(walk.at(), only(piece)));
  const KeptWrite kept{*std::move(buffer), turn};
  while (!piece.empty()) {
    const Extent part = walk.next(Bytes(piece.size()));
    TUTTI_CO_TRY(
        co_await write_piece(*turn->file, piece.first(part.length.count()), part.offset.count(), kept));
    piece = piece.subspan(part.length.count());
  }
  co_return Status();
}

Task<Status> FileStore::Impl::write_piece(ObjectFile& file, std::span<const std::byte> piece,
                                          std::uint64_t offset, const KeptWrite& kept) {
  file.reach = std::max(file.reach, offset + piece.size());
  while (!piece.empty()) {
    ssize_t count = -1;
    if (uring_ == nullptr) {
      count = write_at(file.fd.get(), piece, offset, 0);
    } else {
      if (write_without_waiting_) count = write_at(file.fd.get(), piece, offset, RWF_NOWAIT);
      if (write_without_waiting_ && count < 0 && errno == EOPNOTSUPP) write_without_waiting_ = false;
      if (!write_without_waiting_ || would_wait(count)) {
        const int result =
            co_await uring_->write(file.fd.get(), piece, offset, std::make_shared<KeptWrite>(kept));
        count = result;
        if (result < 0) errno = -result;
      }
    }
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) co_return failure("write", file.id, count < 0 ? errno : ENOSPC);
    if (mapped_) file.note_allocated(offset, static_cast<std::uint64_t>(count));
    piece = piece.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  co_return Status();
}

Task<Status> FileStore::Impl::truncate(ObjectId object, Bytes length) {
  if (length.count() > kLongest) co_return Status(Code::too_large, "truncate past the longest file");
  Result<std::shared_ptr<ObjectFile>> opened = files_.open(object, true);
  if (!opened.ok()) co_return opened.status();
  ObjectFile& file = **opened;
  // Nobody may lose the pages under a mapping that is in use: wait for those, and let no new ones in.
  struct Shrinking {
    explicit Shrinking(ObjectFile& file) : file(file) { ++file.shrinking; }
    Shrinking(const Shrinking&) = delete;
    Shrinking& operator=(const Shrinking&) = delete;
    ~Shrinking() { --file.shrinking; }
    ObjectFile& file;
  };
  const Shrinking shrinking(file);
  const Unsynced unsynced(*this, file);
  for (;;) {
    look_at_length(file);
    if (length.count() >= file.length || file.map_users == 0) break;
    co_await file.unmapped.wait();
  }
  if (written_by_others(object)) marks_->changes(object);
  if (const int error = file.cut(length.count()); error != 0) co_return failure("truncate", object, error);
  file.length = length.count();
  file.uncommitted = false;
  co_return Status();
}

// --- reading ---

Task<Result<ReadResult>> FileStore::Impl::read(ObjectId object, std::span<const Extent> extents, Sink& sink) {
  Result<std::shared_ptr<ObjectFile>> file = files_.open(object, false);
  if (!file.ok()) co_return file.status();
  ReadResult result;
  ExtentWalk walk(extents);
  while (!walk.done()) {
    const Extent next = walk.front();
    if (*file != nullptr) look_at_length(**file);
    const Bytes length(*file == nullptr ? 0 : (*file)->length);  // may change while the sink waits
    if (next.offset >= length) {
      result.end = std::min(result.end, next.offset);
      walk.next(Bytes::max());
      continue;
    }
    if (mapped_) {
      const Extent inside{next.offset, std::min(next.length, length - next.offset)};
      const bool ends_here = inside.length < next.length;
      const MappedRanges<const std::byte> ranges(*file, ends_here ? only(inside) : walk.whole());
      if (!ranges.empty()) {
        TUTTI_CO_TRY(co_await sink.take(walk.at(), ranges.places()));
        result.bytes += Bytes(length_of(ranges.places()));
        if (ends_here) result.end = std::min(result.end, inside.end());
        for (std::size_t i = 0; i < ranges.places().size(); ++i) walk.next(Bytes::max());
        continue;
      }
    }
    TUTTI_CO_TRY(co_await read_buffered(*file, walk, result, sink));
  }
  co_return result;
}

// Up to the end of the object at most.
Task<Status> FileStore::Impl::read_buffered(std::shared_ptr<ObjectFile> file, ExtentWalk& walk,
                                            ReadResult& result, Sink& sink) {
  Result<std::shared_ptr<std::byte>> buffer = co_await buffers_.acquire();
  if (!buffer.ok()) co_return buffer.status();
  const Bytes begin = walk.at();
  std::size_t filled = 0;
  while (!walk.done() && filled < buffers_.size() && walk.front().offset.count() < file->length) {
    const Extent rest = walk.front();
    const std::size_t wanted = std::min<std::uint64_t>(
        {buffers_.size() - filled, rest.length.count(), file->length - rest.offset.count()});
    const std::span<std::byte> place(buffer->get() + filled, wanted);
    const Result<std::size_t> got = co_await read_piece(file, *buffer, place, rest.offset.count());
    if (!got.ok()) co_return got.status();
    filled += *got;
    walk.next(Bytes(*got));
    if (*got == wanted) continue;
    // Cut off meanwhile.
    result.end = std::min(result.end, rest.offset + Bytes(*got));
    walk.next(Bytes::max());
    break;
  }
  result.bytes += Bytes(filled);
  const std::span<const std::byte> piece(buffer->get(), filled);
  if (filled > 0) TUTTI_CO_TRY(co_await sink.take(begin, only(piece)));
  co_return Status();
}

Task<Result<std::size_t>> FileStore::Impl::read_piece(std::shared_ptr<ObjectFile> file,
                                                      std::shared_ptr<std::byte> buffer,
                                                      std::span<std::byte> piece, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < piece.size()) {
    const std::span<std::byte> place = piece.subspan(done);
    ssize_t count = read_at(file->fd.get(), place, offset + done, uring_ == nullptr ? 0 : RWF_NOWAIT);
    if (uring_ != nullptr && would_wait(count)) {
      const int result = co_await uring_->read(file->fd.get(), place, offset + done, buffer);
      count = result;
      if (result < 0) errno = -result;
    }
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) co_return failure("read", file->id, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  co_return done;
}

// --- the rest ---

Task<Status> FileStore::Impl::sync_descriptor(int fd, bool data_only, std::shared_ptr<void> kept,
                                              ObjectId object) {
  int error = 0;
  if (uring_ != nullptr) {
    do {
      error = -co_await uring_->fsync(fd, data_only, kept);
    } while (error == EINTR || error == EAGAIN);
  } else {
    error = (data_only ? ::fdatasync(fd) : ::fsync(fd)) == 0 ? 0 : errno;
  }
  co_return error == 0 ? Status() : failure("sync", object, error);
}

Task<Status> FileStore::Impl::sync(ObjectId object) {
  Result<std::shared_ptr<ObjectFile>> opened = files_.open(object, false);
  if (!opened.ok()) co_return opened.status();
  if (*opened == nullptr) co_return Status();
  std::shared_ptr<ObjectFile> file = *std::move(opened);
  Rounds::Work work = [this, file] { return sync_once(file); };
  co_return co_await Rounds::join(file->syncs, scope_, std::move(work));
}

// One at a time: of two that run together only one is told of a failure.
Task<Status> FileStore::Impl::sync_once(std::shared_ptr<ObjectFile> file) {
  file->unsynced = false;
  Status status = co_await sync_descriptor(file->fd.get(), true, file, file->id);
  if (status.ok()) status = co_await sync_names(file->id);
  if (status.ok()) co_return status;
  const Status noted = losses_.note(file->id);
  if (!noted.ok()) options_.log.error("{}: the failure is known until this server ends", noted.message());
  co_return status;
}

Task<Status> FileStore::Impl::sync_names(ObjectId object) {
  if (directory_.on_tmpfs()) co_return Status();  // nothing survives a loss of power there
  const std::size_t bucket = ObjectDirectory::bucket(object);
  if (synced_names_[bucket] >= files_.names_changed(bucket)) co_return Status();
  Rounds::Work work = [this, object] { return sync_names_once(object); };
  co_return co_await Rounds::join(name_syncs_[bucket], scope_, std::move(work));
}

// The names in the object's fan-out directory must be on disk as well, and that of the directory.
Task<Status> FileStore::Impl::sync_names_once(ObjectId object) {
  const std::uint64_t buckets = directory_.buckets_made();
  if (synced_buckets_ < buckets) {
    TUTTI_CO_TRY(co_await sync_descriptor(directory_.objects_fd(), false, nullptr, object));
    synced_buckets_ = std::max(synced_buckets_, buckets);
  }
  const std::size_t bucket = ObjectDirectory::bucket(object);
  const std::uint64_t changed = files_.names_changed(bucket);
  if (synced_names_[bucket] >= changed) co_return Status();
  TUTTI_CO_TRY(co_await sync_descriptor(directory_.newest_fd(), true, nullptr, object));
  const auto directory = std::make_shared<FileDescriptor>(directory_.open_bucket(bucket));
  if (!directory->valid() && errno == ENOENT) co_return Status();  // no object was ever there
  if (!directory->valid()) co_return failure("sync the directory of", object, errno);
  TUTTI_CO_TRY(co_await sync_descriptor(directory->get(), false, directory, object));
  synced_names_[bucket] = std::max(synced_names_[bucket], changed);
  co_return Status();
}

Task<void> FileStore::Impl::warm(ObjectId object) {
  if (uring_ != nullptr) co_await uring_->stat(directory_.path_of(object));
}

SharedObject FileStore::Impl::share(ObjectId object) {
  if (!mapped_) return {};
  const Result<std::shared_ptr<ObjectFile>> opened = files_.open(object, false);
  if (!opened.ok() || *opened == nullptr) return {};
  ObjectFile& file = **opened;
  look_at_length(file);
  if (file.shared == nullptr) {
    // Not our own descriptor: nobody else may write. When it was read last is nobody's business, and short reads cost 4 % more if it is
    // kept.
    FileDescriptor fd(directory_.open_object(object, O_RDONLY | O_NOATIME));
    if (!fd.valid() && errno == EPERM) fd = FileDescriptor(directory_.open_object(object, O_RDONLY));
    if (!fd.valid()) return {};
    file.shared = std::make_shared<SharedDescriptor>(std::move(fd));
    file.shared_key = ++last_key_;
  }
  return {file.shared_key, Bytes(file.length), file.shared};
}

WritableObject FileStore::Impl::share_for_writing(ObjectId object) {
  if (marks_ == nullptr) return {};
  const Result<std::shared_ptr<ObjectFile>> opened = files_.open(object, false);
  if (!opened.ok() || *opened == nullptr || (*opened)->uncommitted) return {};
  ObjectFile& file = **opened;
  if (file.writable == nullptr) {
    FileDescriptor fd(directory_.open_object(object, O_RDWR));
    if (!fd.valid()) return {};
    file.writable = std::make_shared<SharedDescriptor>(std::move(fd));
    file.writable_key = ++last_key_;
    marks_->share(object);
  }
  return {file.writable_key,         file.writable,        kMarksKey, marks_->file(),
          ChangeMarks::word(object), marks_->value(object)};
}

Status FileStore::Impl::unlink(ObjectId object) {
  if (written_by_others(object)) marks_->changes(object);
  if (directory_.unlink_object(object) == 0) {
    files_.note_removed(object);
  } else if (errno != ENOENT) {
    return failure("remove", object, errno);
  }
  files_.forget(object);
  return {};
}

// An object that is gone already may have been removed by a process that ended before it synced the name.
Task<Status> FileStore::Impl::remove(ObjectId object) {
  TUTTI_CO_TRY(unlink(object));
  co_return co_await sync_names(object);
}

Result<std::optional<Bytes>> FileStore::Impl::length(ObjectId object) {
  if (const std::shared_ptr<ObjectFile> file = files_.find(object)) {
    if (file->uncommitted) return std::optional<Bytes>();
    look_at_length(*file);
    return std::optional(Bytes(file->length));
  }
  const off_t length = directory_.length_of(object);
  if (length >= 0) return std::optional(Bytes(static_cast<std::uint64_t>(length)));
  if (errno == ENOENT) return std::optional<Bytes>();
  return failure("look at", object, errno);
}

Result<std::optional<Bytes>> FileStore::Impl::next_data(ObjectId object, Bytes offset) {
  const Result<std::optional<Bytes>> end = length(object);
  if (!end.ok()) return end.status();
  if (!end->has_value() || **end <= offset) return std::optional<Bytes>();
  const Result<std::shared_ptr<ObjectFile>> file = files_.open(object, false);
  if (!file.ok()) return file.status();
  if (*file == nullptr) return std::optional<Bytes>();
  const off_t found = ::lseek((*file)->fd.get(), static_cast<off_t>(offset.count()), SEEK_DATA);
  if (found < 0 && errno == ENXIO) return std::optional<Bytes>();
  if (found < 0) return std::optional(offset);  // the file system does not tell
  if (Bytes(static_cast<std::uint64_t>(found)) >= **end) return std::optional<Bytes>();
  return std::optional(Bytes(static_cast<std::uint64_t>(found)));
}

// By a byte of the first, of the middle and of the last extent: to look at each costs as much as to ask for it in vain.
bool FileStore::Impl::seem_in_memory(const ObjectFile& file, std::span<const Extent> extents) {
  std::byte byte{};
  const auto here = [&](Bytes at) {
    return !would_wait(read_at(file.fd.get(), {&byte, 1}, at.count(), RWF_NOWAIT));
  };
  return here(extents.front().offset) && here(extents[extents.size() / 2].offset) &&
         here(extents.back().end() - 1_B);
}

Task<int> FileStore::Impl::fetch(std::shared_ptr<ObjectFile> file, Extent extent) {
  if (uring_ != nullptr)
    co_return co_await uring_->fetch(file->fd.get(), extent.offset.count(), extent.length.count(), file);
  co_return ::posix_fadvise(file->fd.get(), static_cast<off_t>(extent.offset.count()),
                            static_cast<off_t>(extent.length.count()), POSIX_FADV_WILLNEED);
}

// The kernel reads what is not in its page cache. To begin that takes it milliseconds for a long list: not here, but in a thread of its
// own.
Task<void> FileStore::Impl::prefetch(ObjectId object, std::span<const Extent> extents) {
  if (directory_.on_tmpfs() || extents.empty()) co_return;
  const Result<std::shared_ptr<ObjectFile>> file = files_.open(object, false);
  if (!file.ok() || *file == nullptr || seem_in_memory(**file, extents)) co_return;
  std::vector<Task<int>> begun;
  begun.reserve(extents.size());
  for (const Extent& extent : extents) begun.push_back(fetch(*file, extent));
  co_await when_all(std::move(begun));  // what fails is read later, as if nobody had asked
}

// Where the byte lies, and how much from it on lies in one piece; nothing if that is not known (yet).
std::optional<DeviceStretch> FileStore::Impl::ask_place(const ObjectFile& file, Bytes offset) {
  // A fiemap ends with an array of extents: room for one.
  alignas(fiemap) std::array<std::byte, sizeof(fiemap) + sizeof(fiemap_extent)> query{};
  auto* request = reinterpret_cast<fiemap*>(query.data());
  request->fm_start = offset.count();
  request->fm_length = 1;
  request->fm_extent_count = 1;
  if (::ioctl(file.fd.get(), FS_IOC_FIEMAP, request) != 0 || request->fm_mapped_extents == 0) return {};
  constexpr unsigned kNowhere = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_ENCODED;
  fiemap_extent extent{};
  std::memcpy(&extent, query.data() + sizeof(fiemap), sizeof(extent));
  if ((extent.fe_flags & kNowhere) != 0 || extent.fe_logical > offset.count()) return {};
  const std::uint64_t within = offset.count() - extent.fe_logical;
  return DeviceStretch{Bytes(extent.fe_physical + within), Bytes(extent.fe_length - within)};
}

Result<std::optional<Bytes>> FileStore::Impl::locate(ObjectId object, Bytes offset) {
  if (directory_.on_tmpfs()) return std::optional<Bytes>();
  const Result<std::shared_ptr<ObjectFile>> file = files_.open(object, false);
  if (!file.ok()) return file.status();
  if (*file == nullptr) return std::optional<Bytes>();
  const std::optional<DeviceStretch> place = ask_place(**file, offset);
  return place ? std::optional(place->address) : std::optional<Bytes>();
}

std::optional<DeviceStretch> FileStore::Impl::probe(ObjectId object, Extent extent) {
  if (directory_.on_tmpfs()) return {};
  const std::shared_ptr<ObjectFile> file = files_.find(object);
  if (file == nullptr) return {};
  const auto known = [&] {
    return extent.offset >= file->placed_from && extent.offset < file->placed_from + file->placed.length;
  };
  if (!known()) {
    const std::optional<DeviceStretch> place = ask_place(*file, extent.offset);
    if (!place) return {};
    file->placed = *place;
    file->placed_from = extent.offset;
  }
  return DeviceStretch{file->placed.address + (extent.offset - file->placed_from), extent.length};
}

Task<Result<std::vector<ObjectId>>> FileStore::Impl::list() {
  std::vector<ObjectId> objects;
  for (std::size_t bucket = 0; bucket < ObjectDirectory::kFanOut; ++bucket) {
    TUTTI_CO_TRY(directory_.list_bucket(bucket, objects));
    if (bucket % 16 == 15) co_await loop_.next_turn();
  }
  std::erase_if(objects, [this](ObjectId object) {
    const std::shared_ptr<ObjectFile> file = files_.find(object);
    return file != nullptr && file->uncommitted;
  });
  std::sort(objects.begin(), objects.end());
  co_return objects;
}

Result<StoreSpace> FileStore::Impl::space() {
  struct statvfs info {};
  if (::fstatvfs(directory_.fd(), &info) != 0)
    return Status::from_errno(errno, "ask for the space of the object store");
  struct stat place {};
  if (::fstat(directory_.fd(), &place) != 0)
    return Status::from_errno(errno, "look at the directory of the object store");
  return StoreSpace{Bytes(info.f_blocks * info.f_frsize), Bytes(info.f_bavail * info.f_frsize),
                    static_cast<std::uint64_t>(place.st_dev)};
}

Status FileStore::create(const std::string& directory, const StoreIdentity& identity) {
  return ObjectDirectory::create(directory, identity);
}
Status FileStore::upgrade(const std::string& directory, const StoreIdentity& identity) {
  return ObjectDirectory::upgrade(directory, identity);
}

Result<std::unique_ptr<FileStore>> FileStore::open(Loop& loop, const std::string& directory,
                                                   FileStoreOptions options) {
  Result<ObjectDirectory> opened = ObjectDirectory::open(directory);
  if (!opened.ok()) return opened.status();
  Result<LossRecord> losses = LossRecord::open(opened->fd(), directory);
  if (!losses.ok()) return losses.status();
  auto impl = std::make_unique<Impl>(loop, *std::move(opened), *std::move(losses), std::move(options));
  impl->start();
  return std::unique_ptr<FileStore>(new FileStore(std::move(impl)));
}

FileStore::FileStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FileStore::~FileStore() = default;

StoreTraits FileStore::traits() const { return impl_->traits(); }
Task<Result<ReadResult>> FileStore::read(ObjectId object, std::span<const Extent> extents, Sink& sink) {
  return impl_->read(object, extents, sink);
}
Task<Status> FileStore::write(ObjectId object, std::span<const Extent> extents, Source& source) {
  return impl_->write(object, extents, source);
}
Task<Status> FileStore::truncate(ObjectId object, Bytes length) { return impl_->truncate(object, length); }
Task<Status> FileStore::sync(ObjectId object) { return impl_->sync(object); }
std::uint64_t FileStore::losses(ObjectId object) const { return impl_->losses(object); }
Task<Status> FileStore::remove(ObjectId object) { return impl_->remove(object); }
Task<Result<std::optional<Bytes>>> FileStore::length(ObjectId object) { co_return impl_->length(object); }
Task<Result<std::optional<Bytes>>> FileStore::next_data(ObjectId object, Bytes offset) {
  co_return impl_->next_data(object, offset);
}
Task<void> FileStore::prefetch(ObjectId object, std::span<const Extent> extents) {
  return impl_->prefetch(object, extents);
}
std::optional<DeviceStretch> FileStore::probe(ObjectId object, Extent extent, bool write) {
  if (write) return DeviceStretch();  // the page cache takes it
  return impl_->probe(object, extent);
}
Task<Result<std::optional<Bytes>>> FileStore::locate(ObjectId object, Bytes offset) {
  co_return impl_->locate(object, offset);
}
Task<Result<std::vector<ObjectId>>> FileStore::list() { return impl_->list(); }
Result<StoreSpace> FileStore::space() { return impl_->space(); }
bool FileStore::cold(ObjectId object) const { return impl_->cold(object); }
Task<void> FileStore::warm(ObjectId object) { return impl_->warm(object); }
SharedObject FileStore::share(ObjectId object) { return impl_->share(object); }
WritableObject FileStore::share_for_writing(ObjectId object) { return impl_->share_for_writing(object); }
const StoreIdentity& FileStore::identity() const { return impl_->directory().identity(); }
Status FileStore::bind(const Uuid& metadata) { return impl_->directory().bind(metadata); }
ObjectId FileStore::newest() const { return impl_->directory().newest(); }
bool FileStore::mapped() const { return impl_->mapped(); }

}  // namespace tutti
