// DeviceStore: where the device would go for a read, as statistics ask; nothing is begun.
#include <algorithm>

#include "env/sim/store/device_store.h"

namespace tutti {
namespace {

std::uint64_t pages(Bytes bytes) { return (bytes.count() + kCachePage - 1) / kCachePage; }

}  // namespace

// The missing pages of the range lengthen the stretch, which begins at the first of them. Returns how many there are.
std::uint64_t DeviceStore::add_missing(ObjectId object, std::uint64_t first, std::uint64_t end,
                                       DeviceStretch& stretch) {
  std::uint64_t missing = 0;
  for (std::uint64_t at = first; at < end;) {
    const PageCache::Run run = cache_.look(object, at, end - at);
    if (run.state == PageCache::State::missing) {
      if (stretch.length == Bytes()) stretch.address = placement_.locate(object, Bytes(at * kCachePage));
      stretch.length += Bytes(run.count * kCachePage);
      missing += run.count;
    }
    at += run.count;
  }
  return missing;
}

std::optional<DeviceStretch> DeviceStore::probe(ObjectId object, Extent extent, bool write) {
  if (extent.length == Bytes()) return DeviceStretch();
  if (options_.cache.size == Bytes() || (write && writes_through()))
    return DeviceStretch{placement_.locate(object, extent.offset), extent.length};
  if (write) return probe_write(object, extent);
  const auto found = objects_.find(object);
  if (found == objects_.end()) return DeviceStretch{placement_.locate(object, extent.offset), extent.length};
  const std::uint64_t first = extent.offset.count() / kCachePage;
  const std::uint64_t end = pages(extent.end());
  if (options_.cache.read_ahead_kind == ReadAheadKind::two_windows)
    return probe_by_windows(object, first, end, *found->second);
  // Where a page is missing, or read-ahead goes on because its marker is passed; what it would read may be in memory.
  const std::uint64_t most = options_.cache.read_ahead.count() / kCachePage;
  const std::uint64_t end_of_object = pages(found->second->length.value_or(extent.end()));
  ReadAhead ahead = found->second->read_ahead;
  DeviceStretch stretch;
  for (std::uint64_t page = first; page < end;) {
    const PageCache::Run run = cache_.look(object, page, end - page);
    if (run.state == PageCache::State::missing)
      return DeviceStretch{placement_.locate(object, Bytes(page * kCachePage)),
                           Bytes((end - page) * kCachePage)};
    if (ahead.active() && ahead.marker() >= page && ahead.marker() < page + run.count) {
      const std::uint64_t marker = ahead.marker();
      const ReadAhead::Window next = ahead.next(marker, end - marker, most);
      if (add_missing(object, next.first, std::min(next.first + next.count, end_of_object), stretch) > 0)
        return stretch;
    }
    page += run.count;
  }
  return stretch;
}

// Memory takes it; but a page that is written in part, and that the device has, is read first.
DeviceStretch DeviceStore::probe_write(ObjectId object, Extent extent) {
  DeviceStretch stretch;
  const auto found = objects_.find(object);
  for (const Bytes edge : {extent.offset, extent.end()}) {
    const std::uint64_t page = edge.count() / kCachePage;
    const bool stored = found == objects_.end() || page * kCachePage < found->second->stored.count();
    if (stored && edge.count() % kCachePage != 0 && stretch.length == Bytes())
      add_missing(object, page, page + 1, stretch);
  }
  return stretch;
}

// A copy of read-ahead's state is led through the read; what it would ask for first is where the device goes.
DeviceStretch DeviceStore::probe_by_windows(ObjectId object, std::uint64_t first, std::uint64_t end,
                                            const Object& state) {
  const std::uint64_t most = options_.cache.read_ahead.count() / kCachePage;
  const std::uint64_t end_of_object = pages(state.length.value_or(Bytes(end * kCachePage)));
  DeviceStretch stretch;
  TwoWindows windows = state.two_windows;
  for (std::uint64_t page = first; page < end;) {
    const std::uint64_t asked =
        windows.next(page, end - page, most, [&](std::uint64_t from, std::uint64_t count) {
          return add_missing(object, from, std::min(from + count, end_of_object), stretch);
        });
    if (stretch.length > Bytes() || add_missing(object, page, std::min(end, asked), stretch) > 0) break;
    page = std::max(asked, page + 1);
  }
  return stretch;
}

}  // namespace tutti
