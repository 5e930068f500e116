// RecentRate: events per second over the last ten seconds. Pure; both calls cost O(1).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/units.h"

namespace tutti {

class RecentRate {
 public:
  explicit RecentRate(Nanos now) : started_(now), second_(now / 1_s) {}

  void note(Nanos now, std::uint64_t events = 1) {
    turn(now / 1_s);
    counts_[index(second_)] += events;
  }
  double per_second(Nanos now) {
    turn(now / 1_s);
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts_) sum += count;
    // The present second counts as far as it has passed.
    const Nanos present = now - Nanos(second_ * 1'000'000'000);
    const Nanos span = std::min(now - started_, present + Nanos((kSeconds - 1) * 1'000'000'000));
    return span > 0_s ? static_cast<double>(sum) / std::max(span.seconds(), 1.0) : 0;
  }

 private:
  static constexpr std::int64_t kSeconds = 10;
  static std::size_t index(std::int64_t second) { return static_cast<std::size_t>(second % kSeconds); }
  void turn(std::int64_t second) {
    if (second - second_ >= kSeconds) second_ = second - kSeconds;
    while (second_ < second) counts_[index(++second_)] = 0;
  }

  Nanos started_;
  std::int64_t second_;
  std::array<std::uint64_t, kSeconds> counts_{};
};

}  // namespace tutti
