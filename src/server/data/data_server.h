// DataServer: holds one object for each file that has stripes on it, and serves transfers in the order that its
// policy says.
//
// A request waits as a small record; its bytes are pulled or pushed only when its turn has come. The records that
// wait are bounded in number and in bytes; beyond, clients are told to wait (Code::busy), and come again. When a session
// ends its queued requests are dropped, and a successor with the same client id is accepted only after the old one's
// dispatched requests have ended.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "env/env.h"
#include "env/scope.h"
#include "env/store.h"
#include "policy/application_ids.h"
#include "server/capability.h"
#include "server/data/cluster_member.h"
#include "server/data/dispatcher.h"
#include "server/data/enrolment.h"
#include "server/data/lock_fences.h"
#include "server/data/policy_switch.h"
#include "server/data/removed_objects.h"

namespace tutti {

class DataSession;

struct DataServerOptions {
  std::uint32_t index = 0;           // its number in the cluster
  std::uint64_t cluster = 0;         // the id of the cluster; sessions for another are refused
  std::uint64_t boot = 0;            // changes when what was not synced may be lost: the kernel's boot
  std::size_t max_queued = 100'000;  // beyond it clients are told to wait
  std::size_t max_queued_per_session = 4'096;
  std::size_t max_sessions = 50'000;
  Bytes queue_memory = 256_MiB;  // of requests that wait, likewise; exceeded by one request at most
  Bytes view_memory = 64_MiB;    // of the views that all sessions have declared
  // How far a local client may read and write objects in memory without asking, while nobody waits; 0: never.
  Bytes read_grant = 16_MiB;
  Bytes write_grant = 16_MiB;
  // See parking.h: how long a turn waits for a client that makes no progress, and a transfer in all.
  Nanos stall = 10_ms;
  Nanos transfer_limit = 300_s;
  std::size_t sending = 16;      // reads on the network at a time, beside those in service
  Nanos max_request_age = 60_s;  // a request time further back is taken as this far back
  std::string coordinator;       // its address; its clock and policy count. Empty: the own ones do
  std::string metadata;  // the metadata server's, which knows the store. Empty: it is taken for the right one
  ApplicationRules applications;  // which ids clients may use, if they are enforced
  bool rotational = false;        // the store is on a rotating disk
};

class DataServer {
 public:
  DataServer(Env env, Store& store, std::unique_ptr<RequestPolicy> policy, ServerKey key,
             DataServerOptions options);
  DataServer(const DataServer&) = delete;
  DataServer& operator=(const DataServer&) = delete;
  ~DataServer();

  // Begins its sessions with the coordinator and the metadata server; once, before serve(). Code::invalid if the store
  // is not that of this server.
  Status start();
  // Accepts and serves until it is cancelled or the listener breaks.
  Task<Status> serve(std::unique_ptr<Listener> listener);

  // Ends, with the reason, when the metadata server refuses the store.
  Task<Status> refused() { return enrolment_.refused(); }
  // Ends when clients are served, or the store is refused.
  Task<Status> decided() { return enrolment_.decided(); }

  [[nodiscard]] const Dispatcher& dispatcher() const { return dispatcher_; }
  [[nodiscard]] const PolicySwitch& policy_switch() const { return policy_switch_; }

 private:
  friend class DataSession;  // serves one client with what stands here
  Task<void> run_session(std::unique_ptr<Connection> connection);

  Env env_;
  Store& store_;
  ServerKey key_;
  DataServerOptions options_;
  Nanos started_;
  ClusterClock cluster_clock_;
  Dispatcher dispatcher_;
  TurnFences turns_;
  ClusterMember member_;
  Enrolment enrolment_;
  PolicySwitch policy_switch_;
  RemovedObjects removed_;                          // cluster's time
  std::map<std::uint64_t, DataSession*> sessions_;  // by client id
  std::size_t connections_ = 0;                     // with and without a session yet
  Usages usages_;
  ViewMemory views_;
  LockFences fences_;
  ReplayRecords replays_;
  Scope scope_;
};

}  // namespace tutti
