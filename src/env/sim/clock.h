// SimClock: the clock of one simulated node. Steady time is the simulation's; wall time may be skewed.
#pragma once

#include "env/clock.h"
#include "env/sim/simulation.h"

namespace tutti {

class SimClock final : public Clock {
 public:
  explicit SimClock(Simulation& simulation) : Clock(simulation.executor()), simulation_(simulation) {}

  [[nodiscard]] Nanos now() const override { return simulation_.now(); }
  [[nodiscard]] Nanos wall() const override {
    const Nanos since = simulation_.now() - drift_from_;
    return Simulation::kWallEpoch + simulation_.now() + offset_ +
           Nanos(since.count() / 1'000'000 * drift_ppm_);
  }

  // From now on wall() is ahead of true time by `offset` (behind if negative), and gains `drift_ppm`
  // microseconds per second. May make wall() jump.
  void skew(Nanos offset, std::int64_t drift_ppm = 0) {
    offset_ = offset;
    drift_ppm_ = drift_ppm;
    drift_from_ = simulation_.now();
  }

 private:
  Simulation& simulation_;
  Nanos offset_;
  std::int64_t drift_ppm_ = 0;
  Nanos drift_from_;
};

}  // namespace tutti
