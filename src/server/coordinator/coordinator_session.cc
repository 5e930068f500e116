#include "server/coordinator/coordinator_session.h"

#include <fmt/format.h>

#include <utility>

namespace tutti {

CoordinatorSession::CoordinatorSession(Coordinator& coordinator, Connection& connection)
    : coordinator_(coordinator), connection_(connection), scope_(coordinator.executor()) {}

bool CoordinatorSession::knows(std::uint16_t type) {
  return GateService::Peer::knows(type) || type == wire::request_type(wire::Type::cluster) ||
         type == wire::request_type(wire::Type::set_policy) || type == wire::request_type(wire::Type::join) ||
         type == wire::request_type(wire::Type::statistics) ||
         type == wire::reply_type(wire::Type::policy_change);
}

bool CoordinatorSession::handle(const Frame& frame) {
  if (member_) member_->heard();
  if (GateService::Peer::knows(frame.type)) {
    if (!gate_) gate_.emplace(coordinator_.gate(), connection_);
    return gate_->handle(frame);
  }
  if (frame.type == wire::reply_type(wire::Type::policy_change)) return member_ && member_->answered(frame);
  switch (static_cast<wire::Type>(frame.type)) {
    case wire::Type::cluster:
      return on_cluster(frame);
    case wire::Type::set_policy:
      return on_set_policy(frame);
    case wire::Type::join:
      return on_join(frame);
    case wire::Type::statistics:
      return on_statistics(frame);
    default:
      return false;
  }
}

bool CoordinatorSession::on_cluster(const Frame& frame) {
  if (wire::parse<wire::ClusterRequest>(frame.payload) == nullptr) return false;
  answer(wire::Type::cluster, frame.id, coordinator_.policy().read());
  return true;
}

bool CoordinatorSession::on_set_policy(const Frame& frame) {
  const auto* request = wire::parse<wire::SetPolicyRequest>(frame.payload);
  if (request == nullptr || request->policy() == nullptr) return false;
  if (!coordinator_.may_change(connection_.peer().uid)) {
    refuse(wire::Type::set_policy, frame.id,
           {Code::permission, "request policy: only root and the owner of the cluster may change it"});
    return true;
  }
  // Only one change is under way at a time: the others end at once.
  scope_.spawn(set_policy(frame.id, request->policy()->str()));
  return true;
}

Task<void> CoordinatorSession::set_policy(std::uint64_t id, std::string policy) {
  const Result<PolicyRecord> record = co_await coordinator_.policy().change(std::move(policy));
  answer(wire::Type::set_policy, id, record);
}

bool CoordinatorSession::on_join(const Frame& frame) {
  const Result<JoinMessage> who = read_join(coordinator_.key(), frame.payload, coordinator_.wall());
  if (who.code() == Code::malformed || member_) return false;
  Status status = who.status();
  if (status.ok() && who->index >= coordinator_.members().size()) {
    status = Status(Code::invalid, fmt::format("the cluster file has no data server {}", who->index));
  }
  if (!status.ok()) {
    refuse(wire::Type::join, frame.id, status);
    return true;
  }
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(wire::CreateJoinReply(builder, 0, 0, Members::kLease.count()));
  connection_.send(wire::reply_type(wire::Type::join), frame.id, wire::bytes(builder)).ignore();
  member_ = std::make_unique<Member>(coordinator_.members(), connection_, *who);
  return true;
}

bool CoordinatorSession::on_statistics(const Frame& frame) {
  if (!member_) return false;
  Result<UseReport> report = read_statistics(frame.payload);
  if (!report.ok()) return false;
  member_->report(*std::move(report));
  return true;
}

void CoordinatorSession::answer(wire::Type type, std::uint64_t id, const Result<PolicyRecord>& record) {
  if (!record.ok()) return refuse(type, id, record.status().with_context("request policy"));
  flatbuffers::FlatBufferBuilder builder(256);
  const auto policy = builder.CreateString(record->now.policy);
  const auto previous = builder.CreateString(record->previous);
  wire::ClusterReplyBuilder reply(builder);
  reply.add_wall(coordinator_.wall().count());
  reply.add_version(record->now.version);
  reply.add_change(record->now.change);
  reply.add_policy(policy);
  reply.add_from(record->now.from.count());
  reply.add_previous(previous);
  reply.add_changing(coordinator_.policy().changing());
  builder.Finish(reply.Finish());
  connection_.send(wire::reply_type(type), id, wire::bytes(builder)).ignore();
}

// Every reply begins with code and message: this one stands for all.
void CoordinatorSession::refuse(wire::Type type, std::uint64_t id, const Status& status) {
  flatbuffers::FlatBufferBuilder builder(256);
  const auto message = builder.CreateString(status.message());
  builder.Finish(wire::CreateStatusReply(builder, static_cast<std::uint16_t>(status.code()), message));
  connection_.send(wire::reply_type(type), id, wire::bytes(builder)).ignore();
}

}  // namespace tutti
