#include "env/sim/device/anticipatory.h"

#include <algorithm>

namespace tutti {

void AnticipatoryScheduler::add(IoRequest& request, Nanos now) {
  const Key key = key_of(request);
  Queue& queue = queues_[key];
  if (queue.seen && queue.requests.empty() && queue.in_device == 0) {
    const Nanos gap = std::min(now - queue.last_done, options_.idle * 2);
    queue.mean_gap = (queue.mean_gap * 7 + gap) / 8;
  }
  queue.seen = true;
  queue.requests.add(request);
  if (!queue.in_round && !(active_ && key == active_key_)) {
    queue.in_round = true;
    round_.push_back(key);
  }
}

Nanos AnticipatoryScheduler::wait_until(const Queue& queue, Nanos now) const {
  if (active_key_.background || now >= slice_end_ || queue.ended) return Nanos();
  if (queue.in_device > 0) return Nanos::max();        // its completion asks again
  if (queue.mean_gap > options_.idle) return Nanos();  // it usually comes too late
  const Nanos until = std::min(queue.last_done + options_.idle, slice_end_);
  return until > now ? until : Nanos();
}

void AnticipatoryScheduler::end_slice() {
  active_ = false;
  Queue& queue = queues_[active_key_];
  if (queue.requests.empty()) return forget_if_over(active_key_);
  queue.in_round = true;
  round_.push_back(active_key_);
}

bool AnticipatoryScheduler::begin_slice(Nanos now) {
  if (round_.empty()) return false;
  // Background requests wait for those that somebody waits for, but not for ever: they have their turn too.
  active_key_ = round_.front();
  round_.pop_front();
  queues_[active_key_].in_round = false;
  active_ = true;
  slice_end_ = now + (active_key_.background ? options_.background_slice : options_.slice);
  return true;
}

IoScheduler::Choice AnticipatoryScheduler::next(Nanos now) {
  for (;;) {
    if (!active_ && !begin_slice(now)) return {};
    Queue& queue = queues_[active_key_];
    const bool expired = now >= slice_end_ && !round_.empty();
    if (!queue.requests.empty() && !expired) {
      IoRequest* chosen = queue.requests.sweep(position_);
      queue.requests.remove(*chosen);
      ++queue.in_device;
      position_ = chosen->what.address + chosen->what.length;
      return {chosen, Nanos::max()};
    }
    if (queue.requests.empty()) {
      const Nanos until = wait_until(queue, now);
      if (until > Nanos()) return {nullptr, until};
    }
    end_slice();
  }
}

void AnticipatoryScheduler::completed(const IoRequest& request, Nanos now) {
  const Key key = key_of(request);
  Queue& queue = queues_[key];
  --queue.in_device;
  queue.last_done = now;
  forget_if_over(key);
}

void AnticipatoryScheduler::ended(std::uint64_t stream) {
  const Key key{false, stream};
  const auto found = queues_.find(key);
  if (found == queues_.end()) return;
  found->second.ended = true;
  forget_if_over(key);
}

void AnticipatoryScheduler::forget_if_over(const Key& key) {
  const auto found = queues_.find(key);
  if (found == queues_.end() || !found->second.ended || found->second.in_device > 0 ||
      found->second.in_round || !found->second.requests.empty() || (active_ && key == active_key_)) {
    return;
  }
  queues_.erase(found);
}

}  // namespace tutti
