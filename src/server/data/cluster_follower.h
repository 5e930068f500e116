// ClusterFollower: how a data server keeps up with what holds for the whole cluster.
//
// It asks the metadata server for the cluster's time and request policy when it starts, then every 30 s, and when
// ask_now() is called; after a failure again after a pause that doubles from 100 ms to 30 s. Each time it connects
// anew, so a quiet server keeps no connection and a half-open one harms nobody.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "env/cluster_clock.h"
#include "env/env.h"
#include "env/scope.h"
#include "env/sync.h"
#include "server/peer_session.h"

namespace tutti {

class ClusterFollower {
 public:
  using Heard = std::function<void(const wire::ClusterReply&)>;
  // `clock` learns the time; `heard` is told of each answer. Both, and what `env` refers to, must outlive it.
  ClusterFollower(Env env, PeerAddress meta, std::string program, ClusterClock& clock, Heard heard);
  ClusterFollower(const ClusterFollower&) = delete;
  ClusterFollower& operator=(const ClusterFollower&) = delete;

  // Does nothing if the address is empty.
  void start();
  void ask_now();

 private:
  Task<void> run();
  Task<Status> ask();
  Task<void> wait(Nanos length);

  Env env_;
  PeerAddress meta_;
  std::string program_;
  ClusterClock& clock_;
  Heard heard_;
  std::uint64_t client_;
  Event wanted_;
  Scope scope_;
};

}  // namespace tutti
