#include "server/coordinator/cluster_follower.h"

#include <algorithm>
#include <utility>

#include "env/combine.h"

namespace tutti {
namespace {

constexpr Nanos kFirstPause = 10_ms;
constexpr Nanos kLongestPause = 1_s;
constexpr int kFirstSamples = 4;  // of the time, in a row

Task<Status> until(Event& event) {
  co_await event.wait();
  co_return Status();
}

}  // namespace

ClusterFollower::ClusterFollower(Env env, PeerAddress coordinator, std::string program, ClusterClock& clock,
                                 Handlers handlers)
    : env_(env),
      coordinator_(std::move(coordinator)),
      program_(std::move(program)),
      clock_(clock),
      handlers_(std::move(handlers)),
      client_(coordinator_.address.empty() ? 0 : env.random.next()),
      wanted_(env.clock.executor()),
      joined_(env.clock.executor()),
      watching_(env.clock.executor()),
      scope_(env.clock.executor()) {}

void ClusterFollower::start() {
  if (!coordinator_.address.empty()) scope_.spawn(run());
}

Task<void> ClusterFollower::run() {
  Nanos pause;  // 0: none, the session that broke had held
  bool told = false;
  for (;;) {
    Status status = co_await begin();
    if (status.ok()) {
      const Nanos began = env_.clock.now();
      told = false;
      joined_.set();
      status = co_await follow();
      joined_.reset();
      if (env_.clock.now() - began > kLongestPause) pause = 0_s;
    }
    watching_.cancel();
    channel_.reset();
    if (!std::exchange(told, true)) {
      env_.log.warn("session with the coordinator ({}): {}; trying again until it answers",
                    coordinator_.address, status.to_string());
    }
    if (pause > 0_s) co_await env_.clock.sleep(pause);
    pause = std::clamp(pause * 2, kFirstPause, kLongestPause);
  }
}

Task<Status> ClusterFollower::begin() {
  Channel::Handler told;
  if (handlers_.told) {
    told = [this](Channel& channel, const Frame& frame) {
      if (frame.id >= wire::kDownwards) handlers_.told(channel.connection(), frame);
    };
  }
  auto channel =
      co_await open_peer_session(env_, coordinator_, client_, program_, kPatience, std::move(told));
  if (!channel.ok()) co_return channel.status();
  channel_ = *std::move(channel);
  watching_.spawn(wake_at_end(&channel_->ended()));
  TUTTI_CO_TRY(co_await ask());  // who joins knows the time already
  if (handlers_.join) {
    const flatbuffers::FlatBufferBuilder message = handlers_.join();
    const auto reply =
        co_await ask_peer<wire::JoinReply>(env_, *channel_, wire::Type::join, message, kPatience);
    if (!reply.ok()) co_return reply.status();
  }
  co_return Status();
}

// Ends when the session does.
Task<Status> ClusterFollower::follow() {
  for (int samples = 2;; ++samples) {
    wanted_.reset();
    TUTTI_CO_TRY(co_await ask());
    if (samples >= kFirstSamples) co_await wait(kKeepAlive);
    if (channel_->closed()) co_return Status(Code::unavailable, "the connection was lost");
  }
}

Task<Status> ClusterFollower::ask() {
  flatbuffers::FlatBufferBuilder message(64);
  message.Finish(wire::CreateClusterRequest(message));
  const Nanos sent = env_.clock.steady();
  const auto reply =
      co_await ask_peer<wire::ClusterReply>(env_, *channel_, wire::Type::cluster, message, kPatience);
  if (!reply.ok()) co_return reply.status();
  const auto* answer = flatbuffers::GetRoot<wire::ClusterReply>(reply->payload.data());
  clock_.sample(sent, env_.clock.steady(), Nanos(answer->wall()));
  if (handlers_.heard) handlers_.heard(*answer);
  co_return Status();
}

Task<void> ClusterFollower::wake_at_end(Event* ended) {
  co_await ended->wait();
  wanted_.set();
}

// Until somebody wants to know or the session ends, at most so long.
Task<void> ClusterFollower::wait(Nanos length) {
  (co_await with_timeout(env_.clock, length, until(wanted_), "waiting")).ignore();
}

}  // namespace tutti
