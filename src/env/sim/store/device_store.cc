#include "env/sim/store/device_store.h"

#include <algorithm>

namespace tutti {

namespace {
// Write-backs handed to the scheduler at a time, so that it has something to sort.
constexpr std::size_t kWriteBacks = 64;
// Of a read in many extents, what is asked for before any of it goes on.
constexpr Bytes kStretch = 1_MiB;

Bytes part_of(Bytes size, double ratio) {
  return Bytes(static_cast<std::uint64_t>(static_cast<double>(size.count()) * ratio));
}
}  // namespace

DeviceStore::DeviceStore(Clock& clock, Store& inner, std::unique_ptr<Device> device,
                         std::unique_ptr<IoScheduler> scheduler, const DeviceStoreOptions& options)
    : clock_(clock),
      inner_(inner),
      options_(options),
      queue_(clock, std::move(device), std::move(scheduler)),
      placement_(queue_.device().capacity(), options.placement),
      cache_(options.cache.size),
      background_limit_(part_of(options.cache.size, options.cache.background_ratio)),
      dirty_limit_(part_of(options.cache.size, options.cache.dirty_ratio)),
      drained_(clock.executor()),
      slots_(clock.executor(), kWriteBacks),
      expire_(*this),
      scope_(clock.executor()) {
  options_.largest_request = std::max(options_.largest_request, Bytes(kCachePage));
  background_limit_ =
      std::min(background_limit_, dirty_limit_);  // else throttled writers would wait for ever
  drained_.set();
}
DeviceStore::~DeviceStore() = default;

DeviceStore::ObjectRef DeviceStore::state(ObjectId object) {
  auto& slot = objects_[object];
  if (!slot) slot = std::make_shared<Object>(clock_.executor());
  return slot;
}

// 0 for an object that does not exist.
Task<Result<Bytes>> DeviceStore::length_of(ObjectId object) {
  const auto found = objects_.find(object);
  if (found != objects_.end() && found->second->length) co_return *found->second->length;
  const Result<std::optional<Bytes>> length = co_await inner_.length(object);
  if (!length.ok()) co_return length.status();
  if (!*length) co_return Bytes();
  state(object)->length = state(object)->stored = **length;
  // A file that exists lies there at its full length.
  if (options_.placement.packed) placement_.place_whole(object, **length);
  co_return **length;
}

DeviceStore::Stream DeviceStore::stream_for(ObjectId object, std::uint64_t origin) {
  auto stream = std::make_shared<StreamState>();
  stream->number = object.value;
  if (options_.stream == StreamKind::client) stream->number = origin;
  if (options_.stream == StreamKind::operation) {
    stream->number = next_stream_++;
    stream->ends = true;
  }
  return stream;
}

// Of what no operation does.
DeviceStore::Stream DeviceStore::file_stream(ObjectId object) {
  auto stream = std::make_shared<StreamState>();
  stream->number = object.value;
  return stream;
}

void DeviceStore::end(const Stream& stream) {
  stream->over = true;
  if (stream->ends) queue_.end_stream(stream->number);
}

// Inodes lie at the begin of a block group, the data of their files behind: half a group away on average. With a cache of
// size 0 nothing is kept, nor are inodes modelled.
Task<void> DeviceStore::need_inode(ObjectId object, Stream stream) {
  const ObjectRef state = this->state(object);
  if (!options_.inodes || options_.cache.size == Bytes()) co_return;
  while (!state->inode && state->inode_read) {
    const std::shared_ptr<Event> read = state->inode_read;
    co_await read->wait();
  }
  if (state->inode) co_return;
  // Whoever waits for it is woken, also when the request that asked for it ends with its server: then another asks.
  struct Reading {
    explicit Reading(Object& of, Executor& executor) : object(of) {
      object.inode_read = std::make_shared<Event>(executor);
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() {
      const std::shared_ptr<Event> read = std::move(object.inode_read);
      object.inode_read.reset();
      read->set();
    }
    Object& object;
  };
  const Reading reading(*state, clock_.executor());
  IoDescription what;
  what.stream = stream->number;
  what.address = placement_.locate(object, Bytes()) + options_.placement.extent / 2;
  what.length = Bytes(kCachePage);
  co_await queue_.io(what);
  state->inode = true;
}

bool DeviceStore::cold(ObjectId object) const {
  if (!traits().cold) return false;
  const auto found = objects_.find(object);
  return found == objects_.end() || !found->second->inode;
}

Task<void> DeviceStore::warm(ObjectId object) {
  const Result<Bytes> length = co_await length_of(object);
  if (!length.ok() || *length == Bytes()) co_return;
  const Stream stream = stream_for(object, 0);
  co_await need_inode(object, stream);
  end(stream);
}

// As a kernel that is told what will be needed: past its own read-ahead, which goes on as if nothing were there.
Task<void> DeviceStore::prefetch(ObjectId object, std::span<const Extent> extents) {
  const Result<Bytes> known = co_await length_of(object);
  if (!known.ok() || *known == Bytes() || options_.cache.size == Bytes()) co_return;
  const Stream stream = stream_for(object, 0);
  co_await need_inode(object, stream);
  const auto pages = [](Bytes bytes) { return (bytes.count() + kCachePage - 1) / kCachePage; };
  const std::uint64_t largest = options_.largest_request.count() / kCachePage;
  for (const Extent& extent : extents) {
    const std::uint64_t end = pages(std::min(*known, extent.end()));
    // All is asked for before anything is waited for.
    for (std::uint64_t at = extent.offset.count() / kCachePage; at < end; at += largest)
      fetch_missing(state(object), {object, at, std::min(largest, end - at)}, stream);
  }
  for (const Extent& extent : extents) {
    const std::uint64_t end = pages(std::min(*known, extent.end()));
    for (std::uint64_t at = extent.offset.count() / kCachePage; at < end;) {
      const PageCache::Run run = cache_.look(object, at, end - at);
      if (run.state == PageCache::State::pending) {
        co_await wait_pending(state(object), at);
      } else {
        at += run.count;
      }
    }
  }
  end(stream);
}

void DeviceStore::drop_caches() {
  cache_.drop_clean();
  for (auto& [id, object] : objects_) object->inode = false;
}

Task<void> DeviceStore::device_io(ObjectId object, Bytes from, Bytes to, bool write, bool background,
                                  Stream stream) {
  while (from < to) {
    IoDescription what;
    what.write = write;
    what.through = write && writes_through();
    what.background = background;
    what.stream = stream->number;
    what.address = placement_.locate(object, from);
    what.length = std::min({to - from, placement_.contiguous(from), options_.largest_request});
    if (told_) told_(what);
    co_await queue_.io(what);
    if (write) in_device_cache_ = true;
    from += what.length;
  }
}

Task<void> DeviceStore::flush_device() {
  if (!in_device_cache_ || writes_through()) co_return;
  in_device_cache_ = false;
  IoDescription what;
  what.flush = true;
  co_await queue_.io(what);
}

StoreTraits DeviceStore::traits() const {
  StoreTraits traits = inner_.traits();
  traits.in_memory = false;
  traits.unshare();
  traits.cold = options_.inodes && options_.cache.size > Bytes();
  traits.addresses = true;
  return traits;
}

// The device is asked for one extent after the other; the bytes of many are one stream, which goes on when a stretch of it
// is there. A thread that serves one operation reads all of it before the bytes travel.
Task<Result<ReadResult>> DeviceStore::read(ObjectId object, std::span<const Extent> extents, Sink& sink) {
  ReadResult result;
  Bytes begin;
  const Stream stream = stream_for(object, sink.origin());
  const Bytes stretch = options_.stream == StreamKind::operation ? Bytes::max() : kStretch;
  while (!extents.empty()) {
    std::size_t count = 0;
    Bytes length;
    do {
      TUTTI_CO_TRY(co_await fetch(object, extents[count], stream));
      length += extents[count++].length;
    } while (count < extents.size() && extents[count].length <= stretch - std::min(stretch, length));
    if (count == extents.size()) end(stream);
    PartSink part(sink, begin);
    const Result<ReadResult> got = co_await inner_.read(object, extents.first(count), part);
    if (!got.ok()) co_return got.status();
    result.bytes += got->bytes;
    result.end = std::min(result.end, got->end);
    begin += length;
    extents = extents.subspan(count);
  }
  co_return result;
}

Task<Status> DeviceStore::write(ObjectId object, std::span<const Extent> extents, Source& source) {
  const Result<Bytes> known = co_await length_of(object);
  if (!known.ok()) co_return known.status();
  const Stream stream = stream_for(object, source.origin());
  if (*known > Bytes()) {
    co_await need_inode(object, stream);
  } else {
    state(object)->inode = true;  // it is made now
  }
  Status status = co_await inner_.write(object, extents, source);
  const auto empty = [](const Extent& extent) { return extent.length == Bytes(); };
  if (!status.ok() || std::all_of(extents.begin(), extents.end(), empty)) {
    state(object)->length.reset();  // a failed write may have grown the object
  } else {
    for (const Extent& extent : extents) co_await take_over(object, extent, *known, stream);
  }
  end(stream);
  co_return status;
}

Task<Status> DeviceStore::fetch(ObjectId object, Extent extent, Stream stream) {
  const auto [offset, length] = extent;
  const Result<Bytes> known = co_await length_of(object);
  if (!known.ok()) co_return known.status();
  const Bytes end = offset < *known ? std::min(*known, offset + std::min(length, *known - offset)) : offset;
  if (offset == end) co_return Status();
  statistics_.read += end - offset;
  co_await need_inode(object, stream);
  if (options_.cache.size == Bytes()) {
    co_await device_io(object, offset, end, false, false, stream);
  } else {
    const auto pages = [](Bytes bytes) { return (bytes.count() + kCachePage - 1) / kCachePage; };
    co_await cached_read(object, offset.count() / kCachePage, pages(end), pages(*known), stream);
  }
  co_return Status();
}

Task<void> DeviceStore::cached_read(ObjectId object, std::uint64_t first, std::uint64_t end,
                                    std::uint64_t end_of_object, Stream stream) {
  if (options_.cache.read_ahead_kind == ReadAheadKind::two_windows)
    co_return co_await read_by_windows(object, first, end, end_of_object, stream);
  bool waited = false;
  for (std::uint64_t page = first; page < end;) {
    const ObjectRef state = this->state(object);  // another one if the object was removed during a wait
    const PageCache::Run run = cache_.look(object, page, end - page);
    if (run.state == PageCache::State::missing) {
      start_window(object, state, page, end - page, end_of_object, stream);
      waited = true;
      continue;
    }
    // Passing the marker starts the next window, before waiting for this one.
    const std::uint64_t marker = state->read_ahead.marker();
    if (state->read_ahead.active() && marker >= page && marker < page + run.count && marker < end_of_object) {
      start_window(object, state, marker, end - marker, end_of_object, stream);
    }
    if (run.state == PageCache::State::pending) {
      waited = true;
      co_await wait_pending(state, page);
      continue;
    }
    if (!waited) statistics_.hit += Bytes(run.count * kCachePage);
    page += run.count;
  }
  state(object)->read_ahead.read_up_to(end - 1);
}

// Reads the window that read-ahead wants, and at least something from a missing `page` on.
void DeviceStore::start_window(ObjectId object, const ObjectRef& state, std::uint64_t page,
                               std::uint64_t wanted, std::uint64_t end, const Stream& stream) {
  const std::uint64_t most = options_.cache.read_ahead.count() / kCachePage;
  const ReadAhead::Window window = state->read_ahead.next(page, wanted, most);
  const std::uint64_t stop = std::min(window.first + window.count, end);
  if (window.first < stop) fetch_missing(state, {object, window.first, stop - window.first}, stream);
  // The window may lie ahead of a page that was evicted from an earlier one.
  const PageCache::Run run = cache_.look(object, page, wanted);
  if (run.state == PageCache::State::missing) start_fetch(object, state, page, run.count, stream);
}

std::uint64_t DeviceStore::fetch_missing(const ObjectRef& state, const PageCache::Range& range,
                                         const Stream& stream) {
  const std::uint64_t end = range.first + range.count;
  std::uint64_t missing = 0;
  for (std::uint64_t at = range.first; at < end;) {
    const PageCache::Run run = cache_.look(range.object, at, end - at);
    if (run.state == PageCache::State::missing) {
      start_fetch(range.object, state, at, run.count, stream);
      missing += run.count;
    }
    at += run.count;
  }
  return missing;
}

void DeviceStore::start_fetch(ObjectId object, const ObjectRef& state, std::uint64_t first,
                              std::uint64_t count, const Stream& stream) {
  const PageCache::Range range{object, first, count};
  cache_.begin_fetch(range);
  state->fetches.push_back(std::make_shared<Fetch>(clock_.executor(), range));
  scope_.spawn(run_fetch(state, state->fetches.back(), stream));
}

Task<void> DeviceStore::run_fetch(ObjectRef state, std::shared_ptr<Fetch> fetch, Stream stream) {
  const PageCache::Range range = fetch->range;
  const Bytes from(range.first * kCachePage);
  co_await device_io(range.object, from, from + Bytes(range.count * kCachePage), false, false, stream);
  cache_.end_fetch(range);
  std::erase(state->fetches, fetch);
  fetch->done.set();
  if (stream->over) end(stream);
}

Task<void> DeviceStore::wait_pending(ObjectRef state, std::uint64_t page) {
  for (const auto& each : state->fetches) {
    if (page < each->range.first || page >= each->range.first + each->range.count) continue;
    const std::shared_ptr<Fetch> fetch = each;
    co_await fetch->done.wait();
    co_return;
  }
}

Task<void> DeviceStore::take_over(ObjectId object, Extent extent, Bytes old_length, Stream stream) {
  const auto [offset, length] = extent;
  if (length == Bytes()) co_return;
  const ObjectRef state = this->state(object);
  state->length = std::max(state->length.value_or(old_length), offset + length);
  statistics_.written += length;
  if (options_.cache.size == Bytes())
    co_return co_await device_io(object, offset, offset + length, true, false, stream);
  co_await read_partial_pages(object, offset, length, old_length, stream);
  const std::uint64_t first = offset.count() / kCachePage;
  const std::uint64_t last = (offset + length - Bytes(1)).count() / kCachePage;
  const PageCache::Range range{object, first, last - first + 1};
  cache_.write(range, clock_.now());
  if (writes_through()) {
    cache_.clean(range);
    state->stored = std::max(state->stored, offset + length);
    co_return co_await device_io(object, offset, offset + length, true, false, stream);
  }
  if (should_flush()) {
    start_flusher();
  } else if (!expire_.armed() && !flushing_) {
    clock_.executor().arm(expire_, cache_.oldest_dirty() + options_.cache.dirty_expire);
  }
  co_await throttle();
}

// A page that is written in part, and that the device may have, has to be read first.
Task<void> DeviceStore::read_partial_pages(ObjectId object, Bytes offset, Bytes length, Bytes old_length,
                                           Stream stream) {
  const Bytes end = offset + length;
  for (const Bytes edge : {offset, end}) {
    if (edge.count() % kCachePage == 0) continue;
    const std::uint64_t page = edge.count() / kCachePage;
    if (page * kCachePage >= std::min(old_length, state(object)->stored).count()) continue;
    if (edge == end && old_length <= end && offset.count() <= page * kCachePage)
      continue;  // all of it is new
    while (cache_.look(object, page, 1).state != PageCache::State::present) {
      const ObjectRef state = this->state(object);
      if (cache_.look(object, page, 1).state == PageCache::State::missing)
        start_fetch(object, state, page, 1, stream);
      co_await wait_pending(state, page);
    }
  }
}

Task<void> DeviceStore::throttle() {
  if (cache_.dirty() + writing_back_ <= dirty_limit_) co_return;
  const Nanos since = clock_.now();
  while (cache_.dirty() + writing_back_ > dirty_limit_) {
    start_flusher();
    drained_.reset();
    co_await drained_.wait();
  }
  statistics_.throttled += clock_.now() - since;
}

bool DeviceStore::should_flush() const {
  const Nanos oldest = cache_.oldest_dirty();
  if (oldest == Nanos::max()) return false;
  return cache_.dirty() + writing_back_ > background_limit_ ||
         oldest + options_.cache.dirty_expire <= clock_.now();
}

void DeviceStore::start_flusher() {
  if (flushing_) return;
  flushing_ = true;
  expire_.disarm();
  scope_.spawn(flush_loop());
}

Task<void> DeviceStore::flush_loop() {
  while (should_flush()) {
    co_await slots_.acquire();
    const auto range = cache_.take_dirty(options_.largest_request.count() / kCachePage);
    if (!range) {
      slots_.release();
      break;
    }
    start_write_back(state(range->object), *range, true);
  }
  flushing_ = false;
  if (cache_.dirty() > Bytes()) {
    clock_.executor().arm(expire_, cache_.oldest_dirty() + options_.cache.dirty_expire);
  }
}

// Takes over a slot. Counts before the task starts, so that whoever waits for the count sees it.
void DeviceStore::start_write_back(const ObjectRef& state, const PageCache::Range& range, bool background) {
  writing_back_ += Bytes(range.count * kCachePage);
  ++state->writing_back;
  state->stored = std::max(state->stored, Bytes((range.first + range.count) * kCachePage));
  scope_.spawn(write_back(state, range, background));
}

Task<void> DeviceStore::write_back(ObjectRef state, PageCache::Range range, bool background) {
  const Bytes from(range.first * kCachePage);
  const Bytes bytes(range.count * kCachePage);
  co_await device_io(range.object, from, from + bytes, true, background, file_stream(range.object));
  writing_back_ -= bytes;
  if (--state->writing_back == 0) state->written.set();
  slots_.release();
  if (cache_.dirty() + writing_back_ <= dirty_limit_) drained_.set();
}

Task<void> DeviceStore::write_back_object(ObjectId object) {
  const ObjectRef state = this->state(object);
  for (;;) {
    co_await slots_.acquire();
    const auto range = cache_.take_dirty(object, options_.largest_request.count() / kCachePage);
    if (!range) break;
    start_write_back(state, *range, false);
  }
  slots_.release();
  while (state->writing_back > 0) {
    state->written.reset();
    co_await state->written.wait();
  }
}

Task<Status> DeviceStore::sync(ObjectId object) {
  if (objects_.contains(object)) co_await write_back_object(object);
  co_await flush_device();
  co_return co_await inner_.sync(object);
}

Task<void> DeviceStore::flush() {
  std::vector<ObjectId> ids;
  for (const auto& [id, object] : objects_) ids.push_back(id);
  for (const ObjectId id : ids) co_await write_back_object(id);
  co_await flush_device();
}

void DeviceStore::power_loss() {
  scope_.cancel();
  std::vector<ObjectId> ids;
  for (const auto& [id, object] : objects_) ids.push_back(id);
  for (const ObjectId id : ids) cache_.drop(id);
  objects_.clear();
  writing_back_ = Bytes();
  flushing_ = false;
  expire_.disarm();
  slots_.release(kWriteBacks - slots_.available());
  drained_.set();
}

Task<Status> DeviceStore::truncate(ObjectId object, Bytes length) {
  Status status = co_await inner_.truncate(object, length);
  const ObjectRef state = this->state(object);
  state->length.reset();
  if (!status.ok()) co_return status;
  state->length = length;
  cache_.drop(object, (length.count() + kCachePage - 1) / kCachePage);
  co_return status;
}

Task<Status> DeviceStore::remove(ObjectId object) {
  Status status = co_await inner_.remove(object);
  if (!status.ok()) co_return status;
  cache_.drop(object);
  placement_.remove(object);
  objects_.erase(object);
  co_return status;
}

Task<Result<std::optional<Bytes>>> DeviceStore::length(ObjectId object) { return inner_.length(object); }

Task<Result<std::optional<Bytes>>> DeviceStore::locate(ObjectId object, Bytes offset) {
  const Result<std::optional<Bytes>> length = co_await inner_.length(object);
  if (!length.ok()) co_return length.status();
  if (!*length) co_return std::optional<Bytes>();
  co_return std::optional<Bytes>(placement_.locate(object, offset));
}

Task<Result<std::vector<ObjectId>>> DeviceStore::list() { return inner_.list(); }
Result<StoreSpace> DeviceStore::space() { return inner_.space(); }

}  // namespace tutti
