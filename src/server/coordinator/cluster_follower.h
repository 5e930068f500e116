// ClusterFollower: a server's lasting session with the coordinator.
//
// It connects when it starts, and at once again when the session breaks; while the coordinator is away, again and again
// after pauses that double from 10 ms to 1 s. With the session come four samples of the cluster's time, then one every
// kKeepAlive with what holds for the cluster: that is the keep-alive, too. A coordinator that does not answer one within
// kPatience is taken for gone, so that half a connection does no harm. In between it is quiet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "env/cluster_clock.h"
#include "env/env.h"
#include "env/scope.h"
#include "env/sync.h"
#include "server/peer_session.h"

namespace tutti {

class ClusterFollower {
 public:
  static constexpr Nanos kKeepAlive = 5_s;
  static constexpr Nanos kPatience = 5_s;

  struct Handlers {
    // What makes the session a membership, of a data server; none: the server only asks.
    std::function<flatbuffers::FlatBufferBuilder()> join;
    // The coordinator's answer on what holds for the cluster.
    std::function<void(const wire::ClusterReply&)> heard;
    // What the coordinator says by itself; called with the connection to answer on.
    std::function<void(Connection&, const Frame&)> told;
  };

  // `clock` learns the time. It, what the handlers use and what `env` refers to must outlive it.
  ClusterFollower(Env env, PeerAddress coordinator, std::string program, ClusterClock& clock,
                  Handlers handlers);
  ClusterFollower(const ClusterFollower&) = delete;
  ClusterFollower& operator=(const ClusterFollower&) = delete;

  // Does nothing if the address is empty.
  void start();
  // Asks what holds without waiting for the next keep-alive.
  void ask_now() { wanted_.set(); }

  // Null while there is no session.
  [[nodiscard]] Connection* connection() {
    return joined_.is_set() && !channel_->closed() ? &channel_->connection() : nullptr;
  }
  // Set while there is a session.
  [[nodiscard]] Event& joined() { return joined_; }

 private:
  Task<void> run();
  Task<Status> begin();
  Task<Status> follow();
  Task<Status> ask();
  Task<void> wake_at_end(Event* ended);
  Task<void> wait(Nanos length);

  Env env_;
  PeerAddress coordinator_;
  std::string program_;
  ClusterClock& clock_;
  Handlers handlers_;
  std::uint64_t client_;
  std::unique_ptr<Channel> channel_;
  Event wanted_;
  Event joined_;
  Scope watching_;
  Scope scope_;
};

}  // namespace tutti
