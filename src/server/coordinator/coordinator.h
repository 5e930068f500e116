// Coordinator: what must be the same on all data servers, and the one who sees to it.
//
// It is a role, not a machine: it lives in the metadata server, or alone (coordinator_server.h). It has
//   - the time: its wall clock is the cluster's, and whoever asks learns it (env/cluster_clock.h);
//   - the request policy: the record, and changes on all data servers or on none (policy_keeper.h), and with `auto` the
//     choice (guide.h), with `orchestrated` the time slices (conductor.h);
//   - the gate: which jobs may write now (gate_service.h);
//   - one lasting session with each data server (members.h), used for everything: samples of the time, steps of a change,
//     advice downwards, statistics upwards, and the lease, which is the session itself.
//
// The data server connects (cluster_follower.h). It knows the coordinator's address anyway and tries until it is there,
// so either side may restart at any time, and the coordinator needs no list of who should be there to find them again;
// what it has to say it sends down the session that it has.
//
// Coordination fails open. While the coordinator is away, data servers serve everything by the policy they have; advice
// expires by itself; the time goes on from the last samples; changes of the policy fail with an error that says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "env/env.h"
#include "env/kv.h"
#include "server/capability.h"
#include "server/coordinator/conductor.h"
#include "server/coordinator/gate_service.h"
#include "server/coordinator/guide.h"
#include "server/coordinator/members.h"
#include "server/coordinator/policy_keeper.h"

namespace tutti {

struct CoordinatorOptions {
  std::vector<std::string> data_servers;  // addresses, in the order of their numbers
  std::string policy = "fcfs";            // as the cluster file says
  std::uint32_t owner = 0;                // uid that may change the policy, beside root
  gate::LockOptions gate = {};
  // Where the gate keeps who has a turn and who waits: survives the process, not a loss of power. Null: nowhere.
  Kv* gate_state = nullptr;
};

class Coordinator {
 public:
  // `kv` and what `env` refers to must outlive it.
  Coordinator(Env env, Kv& kv, ServerKey key, CoordinatorOptions options);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Before anything else: the record of the policy.
  Task<Status> open();

  // The cluster's time.
  [[nodiscard]] Nanos wall() const { return env_.clock.wall(); }
  [[nodiscard]] PolicyKeeper& policy() { return policy_; }
  [[nodiscard]] Members& members() { return members_; }
  [[nodiscard]] const Members& members() const { return members_; }
  [[nodiscard]] const Guide& guide() const { return guide_; }
  [[nodiscard]] const Conductor& conductor() const { return conductor_; }
  [[nodiscard]] GateService& gate() { return gate_; }
  [[nodiscard]] const ServerKey& key() const { return key_; }
  [[nodiscard]] Executor& executor() const { return env_.clock.executor(); }
  // Whether this user may change what holds for the cluster.
  [[nodiscard]] bool may_change(std::uint32_t uid) const { return uid == 0 || uid == owner_; }

 private:
  Env env_;
  ServerKey key_;
  std::uint32_t owner_;
  Members members_;
  PolicyKeeper policy_;
  Guide guide_;
  Conductor conductor_;
  GateService gate_;
};

// The leases as they stand in a status reply.
std::vector<wire::Lease> to_wire(const std::vector<Lease>& leases);

}  // namespace tutti
