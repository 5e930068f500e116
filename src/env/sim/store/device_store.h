// DeviceStore: any Store, slowed down to the speed of a modelled device with its page cache and scheduler.
//
// The bytes live in the wrapped store; this decides when operations end. A read waits for the pages that are
// not cached, then reads the wrapped store. A write writes the wrapped store, makes pages dirty, and waits
// while too many are; they are written back in the background. sync() waits for the object's, and for the device to have
// them on its medium. With a dirty_ratio of 0 every write goes through to the medium by itself, and waits for nothing but
// that. With a cache of size 0 every read and write waits for the device itself. Over a MemoryStore this is the simulated world's
// disk; over a FileStore, on a real clock, it shows the effects of a disk that the machine does not have.
//
// Metadata operations (length, list, remove) take no time; but the inode of an object that exists and is used for the
// first time, or after drop_caches(), is read from its block group first. The wrapped store and the clock must outlive this,
// and nobody else may change the wrapped store.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "env/clock.h"
#include "env/scope.h"
#include "env/sim/device/placement.h"
#include "env/sim/device/queue.h"
#include "env/sim/store/page_cache.h"
#include "env/sim/store/read_ahead.h"
#include "env/sim/store/two_windows.h"
#include "env/store.h"
#include "env/sync.h"

namespace tutti {

// What the scheduler under the store takes for one stream. A server that serves each operation with a thread of its own
// shows its kernel a stream that ends with the operation.
enum class StreamKind : std::uint8_t { file, operation, client };

struct DeviceStoreOptions {
  StreamKind stream = StreamKind::file;
  PageCacheOptions cache;
  PlacementOptions placement;
  Bytes largest_request = 512_KiB;  // what goes to the device at once
  bool inodes = true;  // the first use of an object that is not in memory reads its inode from the device
};

struct DeviceStoreStatistics {
  Bytes read;  // asked for
  Bytes written;
  Bytes hit;        // of the reads, found in the cache at once
  Nanos throttled;  // writers waited for write-back, in sum
};

class DeviceStore final : public Store {
 public:
  DeviceStore(Clock& clock, Store& inner, std::unique_ptr<Device> device,
              std::unique_ptr<IoScheduler> scheduler, const DeviceStoreOptions& options = {});
  ~DeviceStore() override;

  // Never in memory, nor shared, whatever the wrapped store says: the device stands before it.
  [[nodiscard]] StoreTraits traits() const override;
  using Store::read;
  using Store::write;
  Task<Result<ReadResult>> read(ObjectId object, std::span<const Extent> extents, Sink& sink) override;
  Task<Status> write(ObjectId object, std::span<const Extent> extents, Source& source) override;
  Task<Status> truncate(ObjectId object, Bytes length) override;
  Task<Status> sync(ObjectId object) override;
  Task<Status> remove(ObjectId object) override;
  Task<Result<std::optional<Bytes>>> length(ObjectId object) override;
  // The place on the modelled device; nothing if the object does not exist.
  [[nodiscard]] std::uint64_t losses(ObjectId object) const override { return inner_.losses(object); }
  Task<Result<std::optional<Bytes>>> locate(ObjectId object, Bytes offset) override;
  // Tells what is in the page cache, and where read-ahead goes.
  std::optional<DeviceStretch> probe(ObjectId object, Extent extent, bool write) override;
  // The object gets all its places on the device now, as a file of this length has them.
  void place_whole(ObjectId object, Bytes length) { placement_.place_whole(object, length); }
  [[nodiscard]] Bytes address(ObjectId object, Bytes offset) { return placement_.locate(object, offset); }
  [[nodiscard]] bool cold(ObjectId object) const override;
  Task<void> warm(ObjectId object) override;
  Task<void> prefetch(ObjectId object, std::span<const Extent> extents) override;
  SharedObject share(ObjectId /*object*/) override { return {}; }
  [[nodiscard]] const StoreIdentity& identity() const override { return inner_.identity(); }
  Status bind(const Uuid& metadata) override { return inner_.bind(metadata); }
  [[nodiscard]] ObjectId newest() const override { return inner_.newest(); }
  Task<Result<Scrubbed>> verify(ObjectId object, Extent range) override {
    return inner_.verify(object, range);
  }
  Task<Result<std::vector<ObjectId>>> list() override;
  Result<StoreSpace> space() override;

  // Writes back all that is dirty.
  Task<void> flush();
  // Forgets clean pages, as before a measurement. flush() first to forget all.
  void drop_caches();
  // Forgets everything in memory and in the device's queue; the wrapped store decides what its own crash()
  // keeps. No operation may be under way.
  void power_loss();

  // Told of everything that the device is asked for, when it is.
  void on_io(std::function<void(const IoDescription&)> told) { told_ = std::move(told); }
  [[nodiscard]] const DeviceStatistics& device_statistics() const { return queue_.statistics(); }
  [[nodiscard]] Motion device_motion() const { return queue_.motion(); }
  [[nodiscard]] const DeviceStoreStatistics& statistics() const { return statistics_; }
  [[nodiscard]] const PageCache& cache() const { return cache_; }

 private:
  // A read from the device that others may wait for.
  struct Fetch {
    Fetch(Executor& executor, const PageCache::Range& pages) : range(pages), done(executor) {}
    PageCache::Range range;
    Event done;
  };
  struct Object {
    explicit Object(Executor& executor) : written(executor) {}
    ReadAhead read_ahead;
    TwoWindows two_windows;
    std::vector<std::shared_ptr<Fetch>> fetches;
    std::size_t writing_back = 0;
    Event written;                      // set when writing_back falls to 0
    std::optional<Bytes> length;        // known only if set
    Bytes stored;                       // what the device has ends here or before: beyond it are holes
    bool inode = false;                 // in memory
    std::shared_ptr<Event> inode_read;  // under way
  };
  using ObjectRef = std::shared_ptr<Object>;
  struct ExpireTimer : Timer {
    explicit ExpireTimer(DeviceStore& owner) : Timer(&fire), store(owner) {}
    static void fire(Timer* self) { static_cast<ExpireTimer*>(self)->store.start_flusher(); }
    DeviceStore& store;
  };

  // Shared by an operation and what it has set going.
  struct StreamState {
    std::uint64_t number = 0;
    bool ends = false;  // with the operation
    bool over = false;
  };
  using Stream = std::shared_ptr<StreamState>;
  Stream stream_for(ObjectId object, std::uint64_t origin);
  static Stream file_stream(ObjectId object);
  // The operation asks the device for nothing more.
  void end(const Stream& stream);
  // What the device has to do for an extent: before it is read from the wrapped store, and after it was written there, to
  // an object that was `old_length` long.
  Task<Status> fetch(ObjectId object, Extent extent, Stream stream);
  Task<void> take_over(ObjectId object, Extent extent, Bytes old_length, Stream stream);
  ObjectRef state(ObjectId object);
  Task<Result<Bytes>> length_of(ObjectId object);
  Task<void> need_inode(ObjectId object, Stream stream);
  Task<void> device_io(ObjectId object, Bytes from, Bytes to, bool write, bool background, Stream stream);
  // Whatever the device has in its own cache goes to the medium.
  Task<void> flush_device();
  [[nodiscard]] bool writes_through() const {
    return options_.cache.size > Bytes() && dirty_limit_ == Bytes();
  }
  Task<void> cached_read(ObjectId object, std::uint64_t first, std::uint64_t end, std::uint64_t end_of_object,
                         Stream stream);
  // The same with the other kind of read-ahead.
  Task<void> read_by_windows(ObjectId object, std::uint64_t first, std::uint64_t end,
                             std::uint64_t end_of_object, Stream stream);
  DeviceStretch probe_by_windows(ObjectId object, std::uint64_t first, std::uint64_t end,
                                 const Object& state);
  DeviceStretch probe_write(ObjectId object, Extent extent);
  std::uint64_t add_missing(ObjectId object, std::uint64_t first, std::uint64_t end, DeviceStretch& stretch);
  // Begins to read what is missing of the range; returns how many pages that is.
  std::uint64_t fetch_missing(const ObjectRef& state, const PageCache::Range& range, const Stream& stream);
  void start_window(ObjectId object, const ObjectRef& state, std::uint64_t page, std::uint64_t wanted,
                    std::uint64_t end, const Stream& stream);
  void start_fetch(ObjectId object, const ObjectRef& state, std::uint64_t first, std::uint64_t count,
                   const Stream& stream);
  Task<void> run_fetch(ObjectRef state, std::shared_ptr<Fetch> fetch, Stream stream);
  Task<void> wait_pending(ObjectRef state, std::uint64_t page);
  Task<void> read_partial_pages(ObjectId object, Bytes offset, Bytes length, Bytes old_length, Stream stream);
  Task<void> throttle();
  void start_flusher();
  [[nodiscard]] bool should_flush() const;
  Task<void> flush_loop();
  void start_write_back(const ObjectRef& state, const PageCache::Range& range, bool background);
  Task<void> write_back(ObjectRef state, PageCache::Range range, bool background);
  Task<void> write_back_object(ObjectId object);

  Clock& clock_;
  Store& inner_;
  DeviceStoreOptions options_;
  DeviceQueue queue_;
  Placement placement_;
  PageCache cache_;
  std::map<ObjectId, ObjectRef> objects_;
  Bytes background_limit_;
  Bytes dirty_limit_;
  Bytes writing_back_;
  bool in_device_cache_ = false;  // something was written since the last flush of the device
  bool flushing_ = false;
  std::uint64_t next_stream_ = std::uint64_t{1} << 63U;  // of operations: unlike any object
  Event drained_;                                        // set while writers may go on
  Semaphore slots_;
  DeviceStoreStatistics statistics_;
  std::function<void(const IoDescription&)> told_;
  ExpireTimer expire_;
  Scope scope_;
};

}  // namespace tutti
