// What a client asks about the cluster as a whole.
#include "client/file_system.h"
#include "client/file_system_impl.h"

namespace tutti {
namespace {

ClusterPolicy to_policy(const Channel::Reply& reply) {
  const auto* message = flatbuffers::GetRoot<wire::ClusterReply>(reply.payload.data());
  ClusterPolicy policy;
  policy.policy = wire::text(message->policy());
  policy.version = message->version();
  policy.from = Nanos(message->from());
  policy.previous = wire::text(message->previous());
  policy.now = Nanos(message->wall());
  return policy;
}

}  // namespace

Task<Result<ClusterPolicy>> FileSystem::policy() {
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(wire::CreateClusterRequest(builder));
  const auto reply =
      co_await impl_->ask_coordinator<wire::ClusterReply>(wire::Type::cluster, wire::bytes(builder));
  if (!reply.ok()) co_return reply.status();
  co_return to_policy(*reply);
}

Task<Result<ClusterPolicy>> FileSystem::set_policy(std::string policy) {
  flatbuffers::FlatBufferBuilder builder(256);
  const auto text = builder.CreateString(policy);
  builder.Finish(wire::CreateSetPolicyRequest(builder, text));
  const auto reply =
      co_await impl_->ask_coordinator<wire::ClusterReply>(wire::Type::set_policy, wire::bytes(builder));
  if (!reply.ok()) co_return reply.status();
  co_return to_policy(*reply);
}

}  // namespace tutti
