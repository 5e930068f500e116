#include "policy/request/window_grid.h"

#include <algorithm>
#include <cassert>

namespace tutti {
namespace {
// Fewer say little about the load.
constexpr std::uint64_t kFewestFinished = 8;
// Enough for the age that a server lets a request claim; older ones are placed by the oldest.
constexpr std::size_t kEpochsKept = 64;
}  // namespace

WindowGrid::WindowGrid(Nanos interval) : WindowGrid(interval, interval, interval, 1) { adaptive_ = false; }

WindowGrid::WindowGrid(Nanos interval, Nanos shortest, Nanos longest, std::uint64_t rounds)
    : adaptive_(true),
      rounds_(rounds),
      shortest_(static_cast<std::uint64_t>(shortest.millis())),
      longest_(static_cast<std::uint64_t>(longest.millis())),
      epochs_{{0, static_cast<std::uint64_t>(interval.millis())}} {
  assert(shortest_ > 0 && epochs_.front().interval % shortest_ == 0);
}

TimeWindow WindowGrid::place(Nanos request_time) {
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(request_time.millis(), 0));
  if (adaptive_ && time >= window_end_) adapt(time);
  auto epoch = epochs_.end() - 1;
  while (epoch != epochs_.begin() && time < epoch->from) --epoch;
  const std::uint64_t number = time / epoch->interval;
  const std::uint64_t grains = epoch->interval / shortest_;
  return {number, number * grains, grains, number * epoch->interval, epoch->interval};
}

void WindowGrid::elapsed(std::size_t present, Nanos now) {
  presence_ +=
      static_cast<std::uint64_t>(std::max<std::int64_t>((now - measured_until_).count(), 0)) * present;
  measured_until_ = now;
}

Nanos WindowGrid::interval() const {
  return Nanos(static_cast<std::int64_t>(epochs_.back().interval) * 1'000'000);
}

// The first request of a new window: choose the interval from that window's begin on.
void WindowGrid::adapt(std::uint64_t time) {
  const std::uint64_t present = epochs_.back().interval;
  const std::uint64_t begin = time - time % present;
  window_end_ = begin + present;
  if (finished_ < kFewestFinished) return;
  const std::uint64_t wanted = rounds_ * (presence_ / finished_) / 1'000'000;
  presence_ = 0;
  finished_ = 0;

  std::uint64_t chosen = present;
  // To the nearest power of two, with a band of a half around the present one: a change costs order.
  if (wanted * 2 > present * 3) {
    while (chosen * 3 <= wanted * 2 && chosen < longest_ && begin % (2 * chosen) == 0) chosen *= 2;
  } else if (wanted * 3 < present * 2) {
    while (chosen * 3 > wanted * 4 && chosen > shortest_) chosen /= 2;
  }
  if (chosen == present) return;
  if (epochs_.size() == kEpochsKept) epochs_.erase(epochs_.begin());
  epochs_.push_back({begin, chosen});
  window_end_ = time - time % chosen + chosen;
}

}  // namespace tutti
