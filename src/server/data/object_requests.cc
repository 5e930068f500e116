// The requests of a session for whole objects.
#include "server/data/data_session.h"
#include "server/data/era.h"
#include "server/data/status_reply.h"

namespace tutti {

Status DataSession::object_request(const Frame& frame) {
  const auto* request = wire::parse<wire::ObjectRequest>(frame.payload);
  if (request == nullptr || request->capability() == nullptr) return {Code::malformed, "object request"};
  const auto type = static_cast<wire::Type>(frame.type);
  const std::uint32_t rights = type == wire::Type::sync     ? wire::kRightWrite
                               : type == wire::Type::length ? wire::kRightLength
                                                            : wire::kRightRemove;
  if (Status status = check(*request->capability(), rights); !status.ok()) {
    reply(type, frame.id, status);
    return {};
  }
  scope_.spawn(do_object_request(type, frame.id, ObjectId{request->capability()->file()}));
  return {};
}

Task<void> DataSession::do_object_request(wire::Type type, std::uint64_t id, ObjectId object) {
  if (type == wire::Type::length) {
    const auto length = co_await server_.store_.length(object);
    reply_length(id, length);
    co_return;
  }
  Status status;
  if (type == wire::Type::sync) {
    status = co_await server_.store_.sync(object);
  } else {
    status = co_await server_.store_.remove(object);
  }
  reply(type, id, status, era_of(server_.options_.boot, server_.store_, object));
}

void DataSession::reply_length(std::uint64_t id, const Result<std::optional<Bytes>>& length) {
  flatbuffers::FlatBufferBuilder builder(256);
  const Status status = length.status();
  const auto message = message_of(builder, status);
  const bool exists = length.ok() && length->has_value();
  builder.Finish(
      wire::CreateLengthReply(builder, code_of(status), message, exists, exists ? (*length)->count() : 0));
  connection().send(wire::reply_type(wire::Type::length), id, wire::bytes(builder)).ignore();
}

Status DataSession::truncate(const Frame& frame) {
  const auto* request = wire::parse<wire::TruncateRequest>(frame.payload);
  if (request == nullptr || request->capability() == nullptr) return {Code::malformed, "truncate request"};
  Status status = check(*request->capability(), wire::kRightWrite);
  if (status.ok() && request->length() > wire::kMaxOffset)
    status = Status(Code::too_large, "the length is too large");
  if (!status.ok()) {
    reply(wire::Type::truncate, frame.id, status);
    return {};
  }
  scope_.spawn(do_truncate(frame.id, ObjectId{request->capability()->file()}, Bytes(request->length()),
                           request->cut(), request->grow()));
  return {};
}

Task<void> DataSession::do_truncate(std::uint64_t id, ObjectId object, Bytes length, bool cut, bool grow) {
  const std::uint64_t era = era_of(server_.options_.boot, server_.store_, object);
  const auto now = co_await server_.store_.length(object);
  Status status = now.status();
  if (status.ok()) {
    const Bytes old = now->value_or(0_B);
    if ((cut && old > length) || (grow && old < length))
      status = co_await server_.store_.truncate(object, length);
  }
  reply(wire::Type::truncate, id, status, era);
}

}  // namespace tutti
