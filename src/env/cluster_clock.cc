#include "env/cluster_clock.h"

#include <algorithm>

namespace tutti {
namespace {

// 100 ppm: more than two quartz clocks that nobody corrects drift apart.
constexpr std::int64_t kDriftDivisor = 10'000;

}  // namespace

void ClusterClock::sample(Nanos sent, Nanos received, Nanos server_wall) {
  const Nanos bound = std::max(received - sent, Nanos()) / 2;
  const Nanos base = server_wall - (sent + bound);
  const Nanos apart = base > base_ ? base - base_ : base_ - base;
  // Further apart than both bounds explain: somebody has set the server's clock.
  const bool counts = !known() || bound <= error() || apart > bound + error();
  ++samples_;
  sampled_ = received;
  if (!counts) return;
  base_ = base;
  bound_ = bound;
  measured_ = received;
}

Nanos ClusterClock::error() const {
  if (!known()) return Nanos::max();
  return bound_ + (clock_.steady() - measured_) / kDriftDivisor;
}

}  // namespace tutti
