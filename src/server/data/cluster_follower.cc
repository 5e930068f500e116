#include "server/data/cluster_follower.h"

#include <algorithm>
#include <utility>

#include "env/combine.h"

namespace tutti {
namespace {

constexpr Nanos kInterval = 30_s;
constexpr Nanos kFirstPause = 100_ms;
constexpr Nanos kPatience = 5_s;

Task<Status> until(Event& event) {
  co_await event.wait();
  co_return Status();
}

}  // namespace

ClusterFollower::ClusterFollower(Env env, PeerAddress meta, std::string program, ClusterClock& clock,
                                 Heard heard)
    : env_(env),
      meta_(std::move(meta)),
      program_(std::move(program)),
      clock_(clock),
      heard_(std::move(heard)),
      client_(meta_.address.empty() ? 0 : env.random.next()),
      wanted_(env.clock.executor()),
      scope_(env.clock.executor()) {}

void ClusterFollower::start() {
  if (!meta_.address.empty()) scope_.spawn(run());
}

void ClusterFollower::ask_now() { wanted_.set(); }

Task<void> ClusterFollower::run() {
  Nanos pause = kFirstPause;
  for (;;) {
    wanted_.reset();
    const Status status = co_await ask();
    if (!status.ok() && pause == kFirstPause) {
      env_.log.warn("asking the metadata server ({}) for time and policy: {}; trying again until it answers",
                    meta_.address, status.to_string());
    }
    co_await wait(status.ok() ? kInterval : pause);
    pause = status.ok() ? kFirstPause : std::min(pause * 2, kInterval);
  }
}

Task<Status> ClusterFollower::ask() {
  auto channel = co_await open_peer_session(env_, meta_, client_, program_, kPatience);
  if (!channel.ok()) co_return channel.status();
  flatbuffers::FlatBufferBuilder message(64);
  message.Finish(wire::CreateClusterRequest(message));
  const Nanos sent = env_.clock.now();
  const auto reply =
      co_await ask_peer<wire::ClusterReply>(env_, **channel, wire::Type::cluster, message, kPatience);
  if (!reply.ok()) co_return reply.status();
  const auto* answer = flatbuffers::GetRoot<wire::ClusterReply>(reply->payload.data());
  clock_.sample(sent, env_.clock.now(), Nanos(answer->wall()));
  heard_(*answer);
  co_return Status();
}

// Until somebody wants to know, at most so long.
Task<void> ClusterFollower::wait(Nanos length) {
  (co_await with_timeout(env_.clock, length, until(wanted_), "waiting")).ignore();
}

}  // namespace tutti
