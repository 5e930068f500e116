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

}  // namespace tutti
