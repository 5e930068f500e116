// CoordinatorServer: a coordinator alone, in a daemon of its own.
//
// It keeps nothing but the record of the policy. The metadata server follows its time then, as the data servers do.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "env/cluster_clock.h"
#include "env/env.h"
#include "env/kv.h"
#include "env/scope.h"
#include "server/coordinator/coordinator.h"

namespace tutti {

class CoordinatorServer {
 public:
  // `kv` and what `env` refers to must outlive it.
  CoordinatorServer(Env env, Kv& kv, ServerKey key, std::uint64_t cluster, CoordinatorOptions options);
  CoordinatorServer(const CoordinatorServer&) = delete;
  CoordinatorServer& operator=(const CoordinatorServer&) = delete;

  // Code::invalid if what is stored belongs to another cluster.
  Task<Status> open();
  // After open(): accepts and serves until it is cancelled or the listener breaks.
  Task<Status> serve(std::unique_ptr<Listener> listener);

  [[nodiscard]] Coordinator& coordinator() { return coordinator_; }

 private:
  class Session;
  Task<void> run_session(std::unique_ptr<Connection> connection);

  Env env_;
  Kv& kv_;
  std::uint64_t cluster_;
  Nanos started_;
  ClusterClock clock_;  // never corrected: the own clock is the cluster's
  Coordinator coordinator_;
  std::uint32_t sessions_ = 0;
  std::set<std::string> complained_;  // peers that the log has spoken about
  Scope scope_;
};

}  // namespace tutti
