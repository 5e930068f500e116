#include "client/request_tags.h"

namespace tutti {
namespace {

constexpr std::uint64_t kClockSamples = 4;  // in a row, before the clock is left alone for a while
constexpr Nanos kClockRefresh = 30_s;

}  // namespace

RequestTags::RequestTags(const Env& env, const SessionInfo& info, const ClusterClock& cluster_clock,
                         ServerSession& meta, bool correct_clock)
    : env_(env),
      info_(info),
      cluster_clock_(cluster_clock),
      meta_(meta),
      correct_clock_(correct_clock),
      scope_(env.clock.executor()) {}

wire::Tag RequestTags::next(Bytes bottleneck) {
  refresh_clock();
  return {info_.application, wall().count(), info_.client, ++sequence_, bottleneck.count()};
}

void RequestTags::refresh_clock() {
  const bool settled = cluster_clock_.samples() >= kClockSamples;
  const bool fresh = settled && env_.clock.steady() - cluster_clock_.sampled() < kClockRefresh;
  if (!correct_clock_ || fresh || measuring_) return;
  measuring_ = true;
  scope_.spawn(measure_clock());
}

Task<void> RequestTags::measure_clock() {
  co_await meta_.measure_clock();
  measuring_ = false;
}

}  // namespace tutti
