#include "server/data/enrolment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "env/combine.h"
#include "server/peer_session.h"
#include "server/store_messages.h"

namespace tutti {
namespace {

constexpr Nanos kFirstPause = 10_ms;
constexpr Nanos kLongestPause = 250_ms;
constexpr Nanos kClientWaits = 1_s;

Task<Status> until(Event& event) {
  co_await event.wait();
  co_return Status();
}

}  // namespace

Status check_identity(const StoreIdentity& identity, std::uint64_t cluster, std::uint32_t server) {
  if (identity.cluster != cluster) {
    return {Code::invalid,
            fmt::format(
                "the store of data server {} belongs to cluster {:x}, not to {:x}: put the right one in its "
                "place, or correct the cluster file",
                server, identity.cluster, cluster)};
  }
  if (identity.server != server) {
    return {Code::invalid,
            fmt::format("this is the store of data server {}, and here it would be served as that of "
                        "data server {}: put each in its own place",
                        identity.server, server)};
  }
  return {};
}

Enrolment::Enrolment(Env env, Store& store, ServerKey key, const ClusterClock& clock, std::string metadata,
                     std::uint64_t cluster)
    : env_(env),
      store_(store),
      key_(key),
      clock_(clock),
      metadata_(std::move(metadata)),
      cluster_(cluster),
      client_(metadata_.empty() ? 0 : env.random.next()),
      may_serve_(env.clock.executor()),
      decided_(env.clock.executor()),
      refused_(env.clock.executor()),
      scope_(env.clock.executor()) {
  if (!metadata_.empty()) return;
  may_serve_.set();
  decided_.set();
}

void Enrolment::start() {
  if (!metadata_.empty()) scope_.spawn(run());
}

Task<Status> Enrolment::wait_to_serve() {
  if (may_serve_.is_set()) co_return Status();
  const Status waited = co_await with_timeout(env_.clock, kClientWaits, until(may_serve_), "waiting");
  if (waited.ok()) co_return waited;
  co_return Status(Code::unavailable, "the metadata server has not accepted its store yet");
}

Task<Status> Enrolment::refused() {
  co_await refused_.wait();
  co_return refusal_;
}

Task<Status> Enrolment::decided() {
  co_await decided_.wait();
  co_return refusal_;
}

Task<void> Enrolment::run() {
  Nanos pause;
  bool told = false;
  for (;;) {
    std::unique_ptr<Channel> channel;
    const Status status = co_await enrol(channel);
    // The metadata server gives up by itself if it is the wrong one; a server that runs goes on without it.
    if (status.code() == Code::invalid || (status.code() == Code::stale && !known_)) {
      refusal_ = status;
      decided_.set();
      refused_.set();
      co_return;
    }
    if (status.ok()) {
      known_ = true;
      told = false;
      pause = Nanos();
    } else if (!std::exchange(told, true)) {
      env_.log.warn("showing the store to the metadata server ({}): {}; trying again until it answers",
                    metadata_, status.to_string());
    }
    if (status.ok() || !store_.identity().metadata.none()) {
      may_serve_.set();
      decided_.set();
    }
    if (status.ok()) co_await channel->ended().wait();
    channel.reset();
    if (pause > 0_s) co_await env_.clock.sleep(pause);
    pause = std::clamp(pause * 2, kFirstPause, kLongestPause);
  }
}

Task<Status> Enrolment::enrol(std::unique_ptr<Channel>& channel) {
  PeerAddress peer{metadata_, cluster_, 0};
  auto opened =
      co_await open_peer_session(env_, std::move(peer), client_,
                                 fmt::format("tutti data server {}", store_.identity().server), kPatience);
  if (!opened.ok()) {
    // Somebody else at that address says nothing about the store.
    const bool another = opened.code() == Code::invalid;
    co_return another ? Status(Code::unavailable, opened.status().message()) : opened.status();
  }
  channel = *std::move(opened);
  const flatbuffers::FlatBufferBuilder message = enrol_message(key_, shown_by(store_), clock_.now());
  const auto reply =
      co_await ask_peer<wire::EnrolReply>(env_, *channel, wire::Type::enrol, message, kPatience);
  if (!reply.ok()) co_return reply.status();
  const Uuid metadata = from_wire(flatbuffers::GetRoot<wire::EnrolReply>(reply->payload.data())->metadata());
  if (store_.identity().metadata == metadata && !store_.identity().replaces) co_return Status();
  co_return store_.bind(metadata);
}

}  // namespace tutti
