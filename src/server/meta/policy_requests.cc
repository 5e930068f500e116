// The requests of a session about what holds for the whole cluster.
#include <utility>

#include "server/meta/meta_session.h"

namespace tutti::meta {

std::string MetaSession::cluster_reply(const PolicyRecord& record) const {
  flatbuffers::FlatBufferBuilder builder(256);
  const auto policy = builder.CreateString(record.now.policy);
  const auto previous = builder.CreateString(record.previous);
  wire::ClusterReplyBuilder reply(builder);
  reply.add_wall(service_.env.clock.wall().count());
  reply.add_version(record.now.version);
  reply.add_change(record.now.change);
  reply.add_policy(policy);
  reply.add_from(record.now.from.count());
  reply.add_previous(previous);
  reply.add_changing(service_.policy.changing());
  builder.Finish(reply.Finish());
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

bool MetaSession::on_cluster(const Frame& frame) {
  if (wire::parse<wire::ClusterRequest>(frame.payload) == nullptr) return false;
  const Result<PolicyRecord> record = service_.policy.read();
  const Result<std::string> reply =
      record.ok() ? Result<std::string>(cluster_reply(*record)) : record.status();
  answer(frame.type, frame.id, "cluster", reply);
  return true;
}

bool MetaSession::on_set_policy(const Frame& frame) {
  const auto* request = wire::parse<wire::SetPolicyRequest>(frame.payload);
  if (request == nullptr || request->policy() == nullptr) return false;
  const std::uint32_t uid = connection_->peer().uid;
  if (uid != 0 && uid != service_.options.root_uid) {
    const Status refused(Code::permission, "only root and the owner of the cluster may change it");
    answer(frame.type, frame.id, "request policy", refused);
    return true;
  }
  started_change_ = true;
  scope_.spawn(set_policy(frame.type, frame.id, request->policy()->str()));
  return true;
}

Task<void> MetaSession::set_policy(std::uint16_t type, std::uint64_t id, std::string policy) {
  const Result<PolicyRecord> record = co_await service_.policy.change(std::move(policy));
  permits_.release();
  const Result<std::string> reply =
      record.ok() ? Result<std::string>(cluster_reply(*record)) : record.status();
  answer(type, id, "request policy", reply);
}

}  // namespace tutti::meta
