// DataServer: holds one object for each file that has stripes on it, and serves transfers in the order that its
// policy says.
//
// A request waits as a small record; its bytes are pulled or pushed only when its turn has come, so memory is
// bounded by what is dispatched. When a session ends its queued requests are dropped, and a successor with the
// same client id is accepted only after the old one's dispatched requests have ended.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "env/env.h"
#include "env/scope.h"
#include "env/store.h"
#include "server/capability.h"
#include "server/cluster_follower.h"
#include "server/dispatcher.h"

namespace tutti {

struct DataServerOptions {
  std::uint32_t index = 0;           // its number in the cluster
  std::uint64_t cluster = 0;         // the id of the cluster; sessions for another are refused
  std::uint64_t boot = 0;            // changes when what was not synced may be lost: the kernel's boot
  std::size_t max_queued = 100'000;  // beyond it clients are told to wait
  std::size_t max_queued_per_session = 4'096;
  Nanos max_request_age = 60_s;  // a request time further back is taken as this far back
  std::string meta;  // address of the metadata server, whose clock counts; empty: the own one does
};

class DataServer {
 public:
  DataServer(Env env, Store& store, std::unique_ptr<RequestPolicy> policy, ServerKey key,
             DataServerOptions options);
  DataServer(const DataServer&) = delete;
  DataServer& operator=(const DataServer&) = delete;
  ~DataServer();

  // Begins to follow the metadata server; once, before serve().
  void start() { follower_.start(); }
  // Accepts and serves until it is cancelled or the listener breaks.
  Task<Status> serve(std::unique_ptr<Listener> listener);

  [[nodiscard]] const Dispatcher& dispatcher() const { return dispatcher_; }

 private:
  class Session;
  Task<void> run_session(std::unique_ptr<Connection> connection);

  Env env_;
  Store& store_;
  ServerKey key_;
  DataServerOptions options_;
  Nanos started_;
  ClusterClock cluster_clock_;
  Dispatcher dispatcher_;
  ClusterFollower follower_;
  std::map<std::uint64_t, Session*> sessions_;  // by client id
  Scope scope_;
};

}  // namespace tutti
