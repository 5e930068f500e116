// Enrolment: a data server shows its store to the metadata server, which says whether it may serve.
//
// Done when the server starts and whenever the metadata server has started anew; the session stays open in between, and
// its end tells of a restart. A store that has served before serves while the metadata server is away: clients with open
// files need nothing else. A new one waits for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "env/channel.h"
#include "env/cluster_clock.h"
#include "env/env.h"
#include "env/scope.h"
#include "env/store.h"
#include "env/sync.h"
#include "server/capability.h"

namespace tutti {

// Whether the store is the one that this server of the cluster is to serve; the message says what to do if not.
Status check_identity(const StoreIdentity& identity, std::uint64_t cluster, std::uint32_t server);

class Enrolment {
 public:
  static constexpr Nanos kPatience = 5_s;

  // `metadata` is the address of the metadata server; empty: the store is taken for the right one. `clock`, `store` and
  // what `env` refers to must outlive it.
  Enrolment(Env env, Store& store, ServerKey key, const ClusterClock& clock, std::string metadata,
            std::uint64_t cluster);
  Enrolment(const Enrolment&) = delete;
  Enrolment& operator=(const Enrolment&) = delete;

  void start();
  // Ends when clients may be served; Code::unavailable if that takes long.
  Task<Status> wait_to_serve();
  // Ends with the reason when the store must not be served, or the metadata server that is there must not serve it.
  Task<Status> refused();
  // Ends when clients may be served or the store is refused: then with the reason.
  Task<Status> decided();

 private:
  Task<void> run();
  Task<Status> enrol(std::unique_ptr<Channel>& channel);

  Env env_;
  Store& store_;
  ServerKey key_;
  const ClusterClock& clock_;
  std::string metadata_;
  std::uint64_t cluster_;
  std::uint64_t client_;
  bool known_ = false;  // the metadata server has accepted the store since the start
  Event may_serve_;
  Event decided_;
  Event refused_;
  Status refusal_;
  Scope scope_;
};

}  // namespace tutti
