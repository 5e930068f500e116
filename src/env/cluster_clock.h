// ClusterClock: the time of the cluster as a process knows it, whatever its own wall clock says.
//
// The cluster's clock is that of its coordinator. Whoever asks it for the time learns a sample: sent, received
// (both on the own steady clock) and what the server's wall clock said in between. The middle of the round trip is
// the best guess for "in between", and half of it bounds the error. Of all samples the one with the smallest bound
// counts; a bound grows with age, by what two quartz clocks may drift apart, so that a later sample replaces it, and
// so does one that contradicts it: then the server's clock was set.
//
// It rests on the steady clock: a jump of the own wall clock changes nothing. Without a sample the own wall clock
// counts. One thread.
#pragma once

#include "base/units.h"
#include "env/clock.h"

namespace tutti {

class ClusterClock {
 public:
  // `clock` must outlive it.
  explicit ClusterClock(const Clock& clock) : clock_(clock) {}

  void sample(Nanos sent, Nanos received, Nanos server_wall);

  [[nodiscard]] bool known() const { return samples_ > 0; }
  // How many samples there were.
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  // When the last of them came, whether or not it counts.
  [[nodiscard]] Nanos sampled() const { return sampled_; }
  // Since 1970.
  [[nodiscard]] Nanos now() const { return known() ? clock_.steady() + base_ : clock_.wall(); }
  // When, on the own steady clock, the cluster's clock will show `wall`.
  [[nodiscard]] Nanos steady_at(Nanos wall) const { return clock_.steady() + (wall - now()); }
  // The largest error of now() that delays and drift explain; max() without a sample.
  [[nodiscard]] Nanos error() const;

 private:
  const Clock& clock_;
  std::uint64_t samples_ = 0;
  Nanos sampled_;
  Nanos base_;   // cluster's wall time minus own steady time
  Nanos bound_;  // of the error of base_, when it was measured
  Nanos measured_;
};

}  // namespace tutti
