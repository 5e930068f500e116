// The requests of a session for what clients share: locks and counters. And of data servers: their stores.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "server/fence.h"
#include "server/meta/counters.h"
#include "server/meta/meta_session.h"

namespace tutti::meta {
namespace {

std::string lock_reply(const Locks& locks, const LockAsk& ask, const Signer& signer) {
  flatbuffers::FlatBufferBuilder builder(256);
  const Locks::Lost lost = locks.lost(ask.inode, ask.range);
  flatbuffers::Offset<flatbuffers::Vector<const wire::LostLock*>> list;
  std::optional<wire::Capability> proof;
  if (!lost.locks.empty() || lost.epoch != 0) {
    list = builder.CreateVectorOfStructs(lost.locks);
    proof =
        signer.key.sign(fence_digest(ask.inode, lost.locks, lost.epoch), wire::kRightFence, 0, signer.expiry);
  }
  builder.Finish(wire::CreateLockReply(builder, 0, 0, locks.lease().count(), locks.epoch(), list, lost.epoch,
                                       proof ? &*proof : nullptr));
  const auto bytes = wire::bytes(builder);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<std::string> counter_reply(const Result<std::int64_t>& value) {
  if (!value.ok()) return value.status();
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(wire::CreateCounterReply(builder, 0, 0, *value));
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

std::string enrol_reply(const Result<Uuid>& metadata) {
  flatbuffers::FlatBufferBuilder builder(256);
  const wire::Uuid own = metadata.ok() ? to_wire(*metadata) : wire::Uuid();
  const auto message = metadata.ok() ? 0 : builder.CreateString(metadata.status().message());
  builder.Finish(wire::CreateEnrolReply(builder, static_cast<std::uint16_t>(metadata.code()), message, &own));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

Result<LockRange> range_of(const wire::LockRequest& request) {
  if (request.length() == 0 || request.offset() >= wire::kMaxOffset) {
    return Status(Code::invalid,
                  fmt::format("{} bytes at {} cannot be locked", request.length(), request.offset()));
  }
  const std::uint64_t length = std::min(request.length(), wire::kMaxOffset - request.offset());
  return LockRange{request.offset(), request.offset() + length, request.exclusive()};
}

}  // namespace

bool MetaSession::on_lock(const Frame& frame) {
  const auto* request = wire::parse<wire::LockRequest>(frame.payload);
  if (request == nullptr || request->capability() == nullptr) return false;
  const wire::Capability& capability = *request->capability();
  const std::string what = fmt::format("lock inode {}", capability.file());
  const Result<LockRange> range = range_of(*request);
  Status status = check_own(capability);
  if (status.ok()) status = range.status();
  const std::uint32_t needed =
      request->exclusive() ? wire::kRightWrite : wire::kRightRead | wire::kRightWrite;
  if (status.ok() && (capability.rights() & needed) == 0)
    status = Status(Code::bad_capability, "the file is not open for that");
  if (status.ok() && scope_.size() >= kMaxChanges + kMaxLockWaits)
    status = Status(Code::busy, "too many requests are under way");
  if (!status.ok()) {
    answer(frame.type, frame.id, what, status);
    return true;
  }
  const LockAsk ask{capability.file(),  request->number(), *range,
                    request->reclaim(), request->epoch(),  Nanos(request->patience())};
  scope_.spawn(lock(frame.type, frame.id, what, ask));
  return true;
}

Task<void> MetaSession::lock(std::uint16_t type, std::uint64_t id, std::string what, LockAsk ask) {
  const Status status = co_await service_.locks.acquire(lock_session_, ask);
  answer(type, id, what,
         status.ok() ? Result<std::string>(lock_reply(service_.locks, ask, signer()))
                     : Result<std::string>(status));
}

bool MetaSession::on_unlock(const Frame& frame) {
  const auto* request = wire::parse<wire::UnlockRequest>(frame.payload);
  if (request == nullptr) return false;
  const Status status = service_.locks.release(lock_session_, request->number());
  answer(frame.type, frame.id, "unlock",
         status.ok() ? Result<std::string>(status_reply(status)) : Result<std::string>(status));
  return true;
}

bool MetaSession::on_counter(const Frame& frame) {
  const auto* request = wire::parse<wire::CounterRequest>(frame.payload);
  if (request == nullptr) return false;
  const CounterAsk ask{request->key(), request->op(), request->value()};
  if (ask.op == wire::kCounterGet) {
    Result<std::string> reply = std::string();
    const Status status = service_.kv.view([&](const KvReader& kv) -> Status {
      reply = counter_reply(counter_value(kv, caller(), ask.key));
      return {};
    });
    answer(frame.type, frame.id, "counter", status.ok() ? std::move(reply) : Result<std::string>(status));
    return true;
  }
  start_change(frame, "counter", request->sequence(),
               [ask, who = caller()](TreeEditor& editor, const Signer&) {
                 return counter_reply(change_counter(editor.kv(), who, ask));
               });
  return true;
}

bool MetaSession::on_enrol(const Frame& frame) {
  const Result<EnrolMessage> shown = read_enrol(service_.key, frame.payload, service_.clock.now());
  if (shown.code() == Code::malformed) return false;
  if (!shown.ok()) {
    answer(frame.type, frame.id, "enrol", enrol_reply(shown.status()));
    return true;
  }
  scope_.spawn(enrol(frame.type, frame.id, *shown));
  return true;
}

Task<void> MetaSession::enrol(std::uint16_t type, std::uint64_t id, EnrolMessage shown) {
  const Result<Uuid> metadata = co_await service_.stores.enrol(shown);
  if (metadata.ok() && !of_server_) {
    of_server_ = true;
    ++service_.server_sessions;
  }
  answer(type, id, "enrol", enrol_reply(metadata));
}

}  // namespace tutti::meta
