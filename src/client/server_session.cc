#include "client/server_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "env/combine.h"

namespace tutti {
namespace {

constexpr Nanos kFirstPause = 5_ms;
constexpr Nanos kLongestPause = 1_s;
constexpr Nanos kAttempt = 5_s;  // for one connect and handshake

}  // namespace

Answer answer_of(Status status) {
  const Code code = status.code();
  Next next = Next::finish;
  if (code == Code::unavailable || code == Code::busy) next = Next::repeat;
  if (code == Code::expired) next = Next::renew;
  return {std::move(status), next};
}

ServerSession::ServerSession(const Env& env, const SessionInfo& info, std::string name, std::string address,
                             ClusterClock* cluster_clock, std::uint32_t index)
    : env_(env),
      info_(info),
      name_(std::move(name)),
      address_(std::move(address)),
      cluster_clock_(cluster_clock),
      index_(index),
      attempt_ended_(env.clock.executor()),
      scope_(env.clock.executor()) {}

void ServerSession::heard() {
  known_ = true;
  last_word_ = env_.clock.now();
}

Status ServerSession::malformed() const {
  return {Code::malformed, name_ + " sent a reply that does not parse"};
}

Task<Result<std::shared_ptr<Channel>>> ServerSession::ready(Nanos since) {
  Nanos backoff;
  for (;;) {
    if (connected()) co_return channel_;
    auto made = co_await connect_once(kAttempt);
    if (made.ok()) co_return made;
    if (made.code() != Code::unavailable && made.code() != Code::timed_out && made.code() != Code::busy)
      co_return made.status();
    TUTTI_CO_TRY(co_await pause(since, made.status(), backoff));
  }
}

Task<Result<std::shared_ptr<Channel>>> ServerSession::connect_once(Nanos patience) {
  // One attempt at a time; whoever comes meanwhile waits for its end.
  while (connecting_) {
    attempt_ended_.reset();
    co_await attempt_ended_.wait();
  }
  if (connected()) co_return channel_;
  struct Attempting {
    explicit Attempting(ServerSession& session) : session(session) { session.connecting_ = true; }
    Attempting(const Attempting&) = delete;
    Attempting& operator=(const Attempting&) = delete;
    ~Attempting() {
      session.connecting_ = false;
      session.attempt_ended_.set();
    }
    ServerSession& session;
  };
  const Attempting attempting(*this);
  auto made = co_await with_timeout(env_.clock, patience, attempt(), "connect");
  if (made.ok()) {
    channel_ = *made;
    connected_at_ = env_.clock.now();
    heard();
    scope_.cancel();  // the watch over the channel before this one
    scope_.spawn(watch(channel_));
    if (told_) told_(channel_);
  }
  co_return made;
}

Task<Result<std::shared_ptr<Channel>>> ServerSession::attempt() {
  auto connection = co_await env_.network.connect(address_);
  if (!connection.ok()) co_return connection.status();
  auto channel = std::make_shared<Channel>(env_.clock.executor(), std::move(*connection));
  flatbuffers::FlatBufferBuilder builder;
  const auto job = builder.CreateString(info_.job);
  const auto program = builder.CreateString(info_.program);
  builder.Finish(wire::CreateSessionRequest(builder, wire::kProtocolVersion, info_.client, info_.application,
                                            job, program));
  const Nanos sent = env_.clock.steady();
  auto reply = co_await channel->call(wire::request_type(wire::Type::session), wire::bytes(builder));
  if (!reply.ok()) co_return reply.status();
  const auto* message = wire::parse<wire::SessionReply>(reply->payload);
  if (message == nullptr)
    co_return Status(Code::malformed, name_ + " sent a session reply that does not parse");
  TUTTI_CO_TRY(wire::status_of(*message).with_context(name_));
  if (info_.cluster != 0 && message->cluster() != info_.cluster) {
    co_return Status(Code::invalid, fmt::format("{} at {} belongs to another cluster", name_, address_));
  }
  if (message->index() != index_) {
    co_return Status(
        Code::invalid,
        fmt::format("{} is data server {}, not {}: the cluster file lists the servers in another order "
                    "than theirs does; use a copy of the servers' file",
                    address_, message->index(), index_));
  }
  rotational_ = message->rotational();
  if (cluster_clock_ != nullptr)
    cluster_clock_->sample(sent, env_.clock.steady(), Nanos(message->server_wall()));
  co_return channel;
}

Task<void> ServerSession::measure_clock() {
  const std::shared_ptr<Channel> channel = channel_;
  if (cluster_clock_ == nullptr || !channel || channel->closed()) co_return;
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(wire::CreateClusterRequest(builder));
  const Nanos sent = env_.clock.steady();
  const auto reply = co_await channel->call(wire::request_type(wire::Type::cluster), wire::bytes(builder));
  if (!reply.ok()) co_return;
  const auto* message = wire::parse<wire::ClusterReply>(reply->payload);
  if (message == nullptr || !wire::status_of(*message).ok()) co_return;
  cluster_clock_->sample(sent, env_.clock.steady(), Nanos(message->wall()));
}

Task<Status> ServerSession::pause(Nanos since, const Status& failure, Nanos& backoff) {
  const Nanos now = env_.clock.now();
  const Nanos patience = known_ ? info_.patience : info_.first_patience;
  const Nanos word = known_ ? std::max(since, last_word_) : since;
  if (now - word >= patience) {
    // Whoever is told so uses the memory for something else.
    if (now < silenced_) co_await env_.clock.sleep_until(silenced_);
    co_return Status(Code::timed_out, fmt::format("{} ({}) has not answered for {}: {}", name_, address_,
                                                  to_string(patience), failure.message()));
  }
  backoff = std::clamp(backoff * 2, kFirstPause, kLongestPause);
  // Jitter keeps a thousand clients from knocking in the same instant.
  const auto jitter =
      static_cast<std::int64_t>(env_.random.below(static_cast<std::uint64_t>(backoff.count() / 2)));
  const Nanos length = std::min(backoff - Nanos(jitter), patience);
  co_await env_.clock.sleep(length);
  co_return Status();
}

Task<void> ServerSession::watch(std::shared_ptr<Channel> channel) {
  const Nanos interval = std::max(info_.patience / 4, 1_ms);
  while (!channel->closed()) {
    co_await channel->active().wait();
    const std::uint64_t received = channel->received();
    co_await env_.clock.sleep(interval);
    if (channel->waiting() == 0 || channel->received() != received) continue;
    flatbuffers::FlatBufferBuilder builder(64);
    builder.Finish(wire::CreateStatusRequest(builder));
    const auto alive = co_await with_timeout(
        env_.clock, interval, channel->call(wire::request_type(wire::Type::status), wire::bytes(builder)),
        "sign of life");
    if (alive.ok()) {
      heard();
    } else if (!channel->closed()) {
      env_.log.warn("{} ({}) is silent: connecting anew", name_, address_);
      channel->close();
      silenced_ = env_.clock.now() + kReleaseTime;
    }
  }
}

}  // namespace tutti
