// ClusterMember: a data server as a member of its cluster: what it hears from the coordinator and what it tells it.
//
// Over the one session with the coordinator (cluster_follower.h) come the time, what holds for the cluster, the steps of
// a change of the policy, advice, and which turns at the gate were lost; statistics go back, at most every kReportInterval and only while there is something
// new. Advice counts if it is newer than what this session brought before and has not expired. Without a coordinator
// everything is served by the policy that is there.
#pragma once

#include <cstdint>
#include <string>

#include "env/cluster_clock.h"
#include "env/env.h"
#include "env/scope.h"
#include "server/capability.h"
#include "server/coordinator/cluster_follower.h"
#include "server/data/dispatcher.h"
#include "server/data/policy_switch.h"
#include "server/data/statistics.h"
#include "server/data/turn_fences.h"

namespace tutti {

struct MembershipOptions {
  std::string coordinator;  // address; empty: there is none
  std::uint64_t cluster = 0;
  std::uint32_t index = 0;
  bool rotational = false;
};

class ClusterMember {
 public:
  static constexpr Nanos kReportInterval = 100_ms;

  // All references must outlive it.
  ClusterMember(const Env& env, const ServerKey& key, MembershipOptions options, ClusterClock& clock,
                Dispatcher& dispatcher, PolicySwitch& policy_switch, TurnFences& turns);
  ClusterMember(const ClusterMember&) = delete;
  ClusterMember& operator=(const ClusterMember&) = delete;

  void start();
  // Asks the coordinator what holds.
  void ask_now() { follower_.ask_now(); }

 private:
  [[nodiscard]] flatbuffers::FlatBufferBuilder join();
  void told(Connection& connection, const Frame& frame);
  Status change_policy(Connection& connection, const Frame& frame);
  Status advise(const Frame& frame);
  Status lose_turns(const Frame& frame);
  Task<void> report();

  const Env& env_;
  const ServerKey& key_;
  MembershipOptions options_;
  ClusterClock& clock_;
  Dispatcher& dispatcher_;
  PolicySwitch& policy_switch_;
  TurnFences& turns_;
  std::uint64_t epoch_ = 0;  // of the last advice of this session
  ClusterFollower follower_;
  Scope scope_;
};

}  // namespace tutti
