#include "env/sim/device/deadline.h"

namespace tutti {

void DeadlineScheduler::add(IoRequest& request, Nanos /*now*/) {
  queues_[request.what.write ? 1 : 0].add(request);
}

// Chooses the direction, and goes to its oldest request if that has expired.
void DeadlineScheduler::begin_batch(Nanos now) {
  const bool reads = !queues_[0].empty();
  const bool writes = !queues_[1].empty();
  direction_ = reads ? 0 : 1;
  if (reads && writes && ++starved_ > options_.writes_starved) direction_ = 1;
  if (direction_ == 1) starved_ = 0;
  left_in_batch_ = options_.batch;
  const IoRequest* oldest = queues_[direction_].oldest();
  const Nanos expire = direction_ == 0 ? options_.read_expire : options_.write_expire;
  if (oldest->arrival + expire <= now) position_ = oldest->what.address;
}

IoScheduler::Choice DeadlineScheduler::next(Nanos now) {
  if (queues_[0].empty() && queues_[1].empty()) return {};
  // A batch also ends where the sweep would have to go back.
  const IoRequest* ahead = left_in_batch_ > 0 ? queues_[direction_].sweep(position_) : nullptr;
  if (ahead == nullptr || ahead->what.address < position_) begin_batch(now);
  IoRequest* chosen = queues_[direction_].sweep(position_);
  --left_in_batch_;
  queues_[direction_].remove(*chosen);
  position_ = chosen->what.address + chosen->what.length;
  return {chosen, Nanos::max()};
}

}  // namespace tutti
