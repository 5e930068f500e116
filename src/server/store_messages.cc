#include "server/store_messages.h"

#include "server/meta/codec.h"

namespace tutti {
namespace {

constexpr Nanos kLifetime = 300_s;

std::uint64_t mark_of(const EnrolMessage& message) {
  return message_digest(meta::Encoder()
                            .number(message.index)
                            .number(message.uuid.high)
                            .number(message.uuid.low)
                            .number(message.metadata.high)
                            .number(message.metadata.low)
                            .number(message.newest)
                            .number(static_cast<std::uint8_t>(message.replaces))
                            .take());
}

std::uint64_t mark_of(const ScrubMessage& message) {
  return message_digest(meta::Encoder()
                            .number(message.object.value)
                            .number(message.range.offset.count())
                            .number(message.range.length.count())
                            .take());
}

}  // namespace

EnrolMessage shown_by(const Store& store) {
  const StoreIdentity& identity = store.identity();
  return {identity.server, identity.uuid, identity.metadata, store.newest().value, identity.replaces};
}

flatbuffers::FlatBufferBuilder enrol_message(const ServerKey& key, const EnrolMessage& message, Nanos wall) {
  const wire::Capability capability = key.sign(mark_of(message), wire::kRightEnrol, 0, wall + kLifetime);
  const wire::Uuid uuid = to_wire(message.uuid);
  const wire::Uuid metadata = to_wire(message.metadata);
  flatbuffers::FlatBufferBuilder builder(256);
  builder.Finish(wire::CreateEnrolRequest(builder, &capability, message.index, &uuid, &metadata,
                                          message.newest, message.replaces));
  return builder;
}

Result<EnrolMessage> read_enrol(const ServerKey& key, std::span<const std::byte> payload, Nanos wall) {
  const auto* request = wire::parse<wire::EnrolRequest>(payload);
  if (request == nullptr || request->capability() == nullptr || request->uuid() == nullptr)
    return Status(Code::malformed, "enrol request");
  const EnrolMessage message{request->index(), from_wire(request->uuid()), from_wire(request->metadata()),
                             request->newest(), request->replaces()};
  TUTTI_TRY(key.check(*request->capability(), wire::kRightEnrol, wall));
  if (request->capability()->file() == mark_of(message)) return message;
  return Status(Code::bad_capability, "the capability was made for another message");
}

flatbuffers::FlatBufferBuilder list_objects_message(const ServerKey& key, std::uint64_t after, Nanos wall) {
  const wire::Capability capability = key.sign(after, wire::kRightCheck, 0, wall + kLifetime);
  flatbuffers::FlatBufferBuilder builder(128);
  builder.Finish(wire::CreateListObjectsRequest(builder, &capability, after, wire::kMaxListObjects));
  return builder;
}

Result<std::uint64_t> read_list_objects(const ServerKey& key, std::span<const std::byte> payload,
                                        Nanos wall) {
  const auto* request = wire::parse<wire::ListObjectsRequest>(payload);
  if (request == nullptr || request->capability() == nullptr)
    return Status(Code::malformed, "list objects request");
  TUTTI_TRY(key.check(*request->capability(), wire::kRightCheck, wall));
  if (request->capability()->file() == request->after()) return request->after();
  return Status(Code::bad_capability, "the capability was made for another message");
}

flatbuffers::FlatBufferBuilder scrub_message(const ServerKey& key, const ScrubMessage& message, Nanos wall) {
  const wire::Capability capability = key.sign(mark_of(message), wire::kRightCheck, 0, wall + kLifetime);
  flatbuffers::FlatBufferBuilder builder(128);
  builder.Finish(wire::CreateScrubRequest(builder, &capability, message.object.value,
                                          message.range.offset.count(), message.range.length.count()));
  return builder;
}

Result<ScrubMessage> read_scrub(const ServerKey& key, std::span<const std::byte> payload, Nanos wall) {
  const auto* request = wire::parse<wire::ScrubRequest>(payload);
  if (request == nullptr || request->capability() == nullptr || request->offset() > wire::kMaxOffset ||
      request->length() > wire::kMaxScrub) {
    return Status(Code::malformed, "scrub request");
  }
  const ScrubMessage message{ObjectId{request->object()},
                             {Bytes(request->offset()), Bytes(request->length())}};
  TUTTI_TRY(key.check(*request->capability(), wire::kRightCheck, wall));
  if (request->capability()->file() == mark_of(message)) return message;
  return Status(Code::bad_capability, "the capability was made for another message");
}

}  // namespace tutti
