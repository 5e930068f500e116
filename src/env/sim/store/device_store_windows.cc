// DeviceStore: reads with two windows of read-ahead (two_windows.h).
#include <algorithm>

#include "env/sim/store/device_store.h"

namespace tutti {

Task<void> DeviceStore::read_by_windows(ObjectId object, std::uint64_t first, std::uint64_t end,
                                        std::uint64_t end_of_object, Stream stream) {
  const std::uint64_t most = options_.cache.read_ahead.count() / kCachePage;
  bool waited = false;
  std::uint64_t asked = first;  // up to here read-ahead was told
  for (std::uint64_t page = first; page < end;) {
    const ObjectRef state = this->state(object);  // another one if the object was removed during a wait
    if (page >= asked) {
      asked = state->two_windows.next(page, end - page, most, [&](std::uint64_t from, std::uint64_t count) {
        const std::uint64_t stop = std::min(from + count, end_of_object);
        return from < stop ? fetch_missing(state, {object, from, stop - from}, stream) : 0;
      });
    }
    const PageCache::Run run = cache_.look(object, page, std::min(end, asked) - page);
    if (run.state == PageCache::State::present) {
      if (!waited) statistics_.hit += Bytes(run.count * kCachePage);
      page += run.count;
      continue;
    }
    waited = true;
    if (run.state == PageCache::State::missing) {
      state->two_windows.missed();
      start_fetch(object, state, page, run.count, stream);
    }
    co_await wait_pending(state, page);
  }
}

}  // namespace tutti
