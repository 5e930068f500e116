#include "server/data/cluster_member.h"

#include <fmt/format.h>

#include <utility>

namespace tutti {
namespace {

// From the cluster's time to this server's steady clock, which the policy's `now` is.
Advice on_steady_clock(Advice advice, const ClusterClock& clock) {
  advice.expiry = clock.steady_at(advice.expiry);
  for (TimeSlice& slice : advice.slices) {
    slice.from = clock.steady_at(slice.from);
    slice.to = clock.steady_at(slice.to);
  }
  for (PlanStep& step : advice.plan) step.from = clock.steady_at(step.from);
  return advice;
}

}  // namespace

ClusterMember::ClusterMember(const Env& env, const ServerKey& key, MembershipOptions options,
                             ClusterClock& clock, Dispatcher& dispatcher, PolicySwitch& policy_switch,
                             TurnFences& turns)
    : env_(env),
      key_(key),
      options_(std::move(options)),
      clock_(clock),
      dispatcher_(dispatcher),
      policy_switch_(policy_switch),
      turns_(turns),
      follower_(env, {options_.coordinator, options_.cluster, 0},
                fmt::format("tutti data server {}", options_.index), clock,
                {[this] { return join(); },
                 [this](const wire::ClusterReply& reply) { policy_switch_.heard(reply); },
                 [this](Connection& connection, const Frame& frame) { told(connection, frame); }}),
      scope_(env.clock.executor()) {}

void ClusterMember::start() {
  if (options_.coordinator.empty()) return;
  dispatcher_.statistics().begin();
  follower_.start();
  scope_.spawn(report());
}

flatbuffers::FlatBufferBuilder ClusterMember::join() {
  epoch_ = 0;  // another coordinator may count anew
  return join_message(key_, {options_.index, options_.rotational}, clock_.now());
}

void ClusterMember::told(Connection& connection, const Frame& frame) {
  Status status;
  switch (static_cast<wire::Type>(frame.type)) {
    case wire::Type::policy_change:
      status = change_policy(connection, frame);
      break;
    case wire::Type::advice:
      status = advise(frame);
      break;
    case wire::Type::lost_turns:
      status = lose_turns(frame);
      break;
    default:
      return;  // of a newer coordinator
  }
  if (status.ok()) return;
  env_.log.warn("session with the coordinator ({}): {}", options_.coordinator, status.to_string());
  if (status.code() == Code::malformed) connection.close();
}

Status ClusterMember::change_policy(Connection& connection, const Frame& frame) {
  const auto message = read_policy_change(key_, frame.payload, clock_.now());
  if (message.code() == Code::malformed) return message.status();
  const Status status = message.ok() ? policy_switch_.take(*message) : message.status();
  flatbuffers::FlatBufferBuilder builder(256);
  const auto text = builder.CreateString(status.message());
  builder.Finish(wire::CreateStatusReply(builder, static_cast<std::uint16_t>(status.code()), text));
  connection.send(wire::reply_type(wire::Type::policy_change), frame.id, wire::bytes(builder)).ignore();
  return {};
}

Status ClusterMember::advise(const Frame& frame) {
  Result<Advice> advice = read_advice(key_, frame.payload, clock_.now());
  if (!advice.ok()) return advice.status();
  if (advice->epoch <= epoch_ || advice->expiry <= clock_.now()) return {};
  epoch_ = advice->epoch;
  dispatcher_.advise(on_steady_clock(*std::move(advice), clock_));
  return {};
}

Status ClusterMember::lose_turns(const Frame& frame) {
  const auto fences = read_lost_turns(key_, frame.payload, clock_.now());
  if (!fences.ok()) return fences.status();
  for (const std::uint64_t fence : *fences) turns_.add(fence);
  return {};
}

Task<void> ClusterMember::report() {
  Statistics& statistics = dispatcher_.statistics();
  for (;;) {
    co_await statistics.news().wait();
    co_await follower_.joined().wait();
    const UseReport report = statistics.report(dispatcher_.accounts());
    Connection* connection = follower_.connection();
    if (connection != nullptr) {
      const auto message = statistics_message(report);
      connection->send(wire::request_type(wire::Type::statistics), 0, wire::bytes(message)).ignore();
    }
    co_await env_.clock.sleep(kReportInterval);
  }
}

}  // namespace tutti
