#include "server/coordinator/policy_change.h"

#include "server/meta/codec.h"

namespace tutti {
namespace {

constexpr Nanos kLifetime = 300_s;

std::uint64_t mark_of(const PolicyMessage& message) {
  return message_digest(meta::Encoder()
                            .number(static_cast<std::uint8_t>(message.step))
                            .number(message.what.version)
                            .number(message.what.change)
                            .number(message.what.from.count())
                            .rest(message.what.policy)
                            .take());
}

}  // namespace

flatbuffers::FlatBufferBuilder policy_change_message(const ServerKey& key, const PolicyMessage& message,
                                                     Nanos wall) {
  const PolicyVersion& what = message.what;
  const wire::Capability capability = key.sign(mark_of(message), wire::kRightPolicy, 0, wall + kLifetime);
  flatbuffers::FlatBufferBuilder builder(256);
  const auto policy = builder.CreateString(what.policy);
  builder.Finish(wire::CreatePolicyChangeRequest(builder, &capability,
                                                 static_cast<std::uint8_t>(message.step), what.version,
                                                 what.change, policy, what.from.count()));
  return builder;
}

Result<PolicyMessage> read_policy_change(const ServerKey& key, std::span<const std::byte> payload,
                                         Nanos wall) {
  const auto* request = wire::parse<wire::PolicyChangeRequest>(payload);
  if (request == nullptr || request->capability() == nullptr || request->policy() == nullptr ||
      request->policy()->size() > wire::kMaxPolicy || request->step() < 1 || request->step() > 3) {
    return Status(Code::malformed, "policy change");
  }
  PolicyMessage message{
      static_cast<PolicyStep>(request->step()),
      {request->version(), request->change(), request->policy()->str(), Nanos(request->from())}};
  TUTTI_TRY(key.check(*request->capability(), wire::kRightPolicy, wall));
  if (request->capability()->file() != mark_of(message))
    return Status(Code::bad_capability, "the capability was made for another change of the policy");
  return message;
}

}  // namespace tutti
