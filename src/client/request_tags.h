// RequestTags: who asks, and when. Every request to a data server carries a tag; request policies order by it.
//
// The time in it is the cluster's (env/cluster_clock.h). The distance to it is measured beside the operations, never
// before one: the first sample came with the session.
#pragma once

#include <cstdint>

#include "client/server_session.h"
#include "env/cluster_clock.h"
#include "env/scope.h"

namespace tutti {

class RequestTags {
 public:
  // The references must outlive it. Without `correct_clock` the own wall clock counts as it is.
  RequestTags(const Env& env, const SessionInfo& info, const ClusterClock& cluster_clock, ServerSession& meta,
              bool correct_clock);

  // The tag of an operation that begins now. `bottleneck` is the bytes of its most loaded server.
  [[nodiscard]] wire::Tag next(Bytes bottleneck = 0_B);
  // The time that tags carry.
  [[nodiscard]] Nanos wall() const { return correct_clock_ ? cluster_clock_.now() : env_.clock.wall(); }

 private:
  void refresh_clock();
  Task<void> measure_clock();

  const Env& env_;
  const SessionInfo& info_;
  const ClusterClock& cluster_clock_;
  ServerSession& meta_;
  bool correct_clock_;
  std::uint64_t sequence_ = 0;
  bool measuring_ = false;
  Scope scope_;
};

}  // namespace tutti
