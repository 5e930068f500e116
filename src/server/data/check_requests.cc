// The requests of a session that checks the store.
#include <algorithm>

#include "server/data/data_session.h"
#include "server/data/status_reply.h"
#include "server/store_messages.h"

namespace tutti {

Status DataSession::list_objects(const Frame& frame) {
  const auto after = read_list_objects(server_.key_, frame.payload, server_.cluster_clock_.now());
  if (after.code() == Code::malformed) return after.status();
  if (after.ok()) {
    scope_.spawn(do_list_objects(frame.id, *after));
  } else {
    reply(wire::Type::list_objects, frame.id, after.status());
  }
  return {};
}

Task<void> DataSession::do_list_objects(std::uint64_t id, std::uint64_t after) {
  Status status;
  if (after == 0) {
    auto all = co_await server_.store_.list();
    status = all.status();
    if (all.ok()) listed_ = *std::move(all);
  }
  std::vector<wire::ObjectLength> page;
  auto next = std::upper_bound(listed_.begin(), listed_.end(), ObjectId{after});
  for (; status.ok() && next != listed_.end() && page.size() < wire::kMaxListObjects; ++next) {
    const auto length = co_await server_.store_.length(*next);
    status = length.status();
    if (status.ok() && length->has_value()) page.emplace_back(next->value, (*length)->count());
  }
  const bool more = status.ok() && next != listed_.end();
  const StoreIdentity& identity = server_.store_.identity();
  const wire::Uuid uuid = to_wire(identity.uuid);
  const wire::Uuid metadata = to_wire(identity.metadata);
  flatbuffers::FlatBufferBuilder builder;
  const auto message = message_of(builder, status);
  const auto objects = builder.CreateVectorOfStructs(page);
  builder.Finish(wire::CreateListObjectsReply(builder, code_of(status), message, objects, more,
                                              identity.cluster, identity.server, &uuid, &metadata));
  connection().send(wire::reply_type(wire::Type::list_objects), id, wire::bytes(builder)).ignore();
}

Status DataSession::scrub(const Frame& frame) {
  const auto message = read_scrub(server_.key_, frame.payload, server_.cluster_clock_.now());
  if (message.code() == Code::malformed) return message.status();
  if (message.ok()) {
    scope_.spawn(do_scrub(frame.id, message->object, message->range));
  } else {
    reply(wire::Type::scrub, frame.id, message.status());
  }
  return {};
}

Task<void> DataSession::do_scrub(std::uint64_t id, ObjectId object, Extent range) {
  Result<Scrubbed> found = co_await server_.store_.verify(object, range);
  const Scrubbed verified = found.ok() ? *std::move(found) : Scrubbed();
  std::vector<std::uint64_t> rotten;
  for (const Bytes offset : verified.rotten) rotten.push_back(offset.count());
  flatbuffers::FlatBufferBuilder builder;
  const auto message = message_of(builder, found.status());
  const auto list = builder.CreateVector(rotten);
  builder.Finish(wire::CreateScrubReply(builder, code_of(found.status()), message,
                                        server_.store_.traits().checksums, verified.checked.count(),
                                        verified.summed.count(), list));
  connection().send(wire::reply_type(wire::Type::scrub), id, wire::bytes(builder)).ignore();
}

}  // namespace tutti
