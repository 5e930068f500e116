// The requests of a session for whole objects.
#include <algorithm>
#include <utility>

#include "server/data/data_session.h"
#include "server/data/era.h"
#include "server/data/status_reply.h"
#include "server/data/transfer_request.h"
#include "server/fence.h"
#include "server/removal.h"

namespace tutti {
namespace {

constexpr Nanos kFencePause = 1_ms;  // a turn lasts a few of them at most

}  // namespace

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
  const ObjectId object{request->capability()->file()};
  if (type != wire::Type::sync) {
    scope_.spawn(do_object_request(type, frame.id, object));
    return {};
  }
  auto work = server_.dispatcher_.blank();
  work->work = Work::sync;
  enqueue(std::move(work), frame, object, request->tag());
  return {};
}

void DataSession::enqueue(std::unique_ptr<Transfer> work, const Frame& frame, ObjectId object,
                          const wire::Tag* tag) {
  const std::uint64_t application = allowed_.fit(tag != nullptr ? tag->application() : 0);
  if (Status room = check_room(application); !room.ok())
    return reply(static_cast<wire::Type>(frame.type), frame.id, room);
  work->frame = frame.id;
  work->session = client_;
  work->usage = client_->application;
  work->object = object;
  const Nanos wall = server_.cluster_clock_.now();
  const Nanos claimed = tag != nullptr ? Nanos(tag->request_time()) : wall;
  const wire::Tag own(application, claimed.count(), tag != nullptr ? tag->client() : 0,
                      tag != nullptr ? tag->sequence() : 0, 0);
  server_.dispatcher_.add(std::move(work), own,
                          std::clamp(claimed, wall - server_.options_.max_request_age, wall), wall);
}

Status DataSession::prefetch(const Frame& frame) {
  const auto* request = wire::parse<wire::PrefetchRequest>(frame.payload);
  if (!sound(request)) return {Code::malformed, "prefetch request"};
  auto work = server_.dispatcher_.blank();
  Status status = check(*request->capability(), wire::kRightRead);
  if (status.ok()) status = take_over(*request, *work);
  const bool fits = client_->prefetching + work->length <= Bytes(wire::kMaxPrefetch);
  reply(wire::Type::prefetch, frame.id, status);
  const std::uint64_t application = allowed_.fit(request->tag()->application());
  if (!status.ok() || !fits || !check_room(application).ok()) return {};
  client_->prefetching += work->length;
  work->session = client_;
  work->usage = client_->application;
  const Nanos wall = server_.cluster_clock_.now();
  const wire::Tag& claim = *request->tag();
  const wire::Tag tag(application, claim.request_time(), claim.client(), claim.sequence(),
                      claim.bottleneck());
  server_.dispatcher_.add(
      std::move(work), tag,
      std::clamp(Nanos(claim.request_time()), wall - server_.options_.max_request_age, wall), wall);
  return {};
}

Task<void> DataSession::do_object_request(wire::Type type, std::uint64_t id, ObjectId object) {
  if (type == wire::Type::length) {
    const auto length = co_await server_.store_.length(object);
    reply_length(type, id, length);
    co_return;
  }
  const Status status = co_await server_.store_.remove(object);
  reply(type, id, status);
}

Status DataSession::remove_objects(const Frame& frame) {
  const auto* request = wire::parse<wire::RemoveObjectsRequest>(frame.payload);
  if (request == nullptr || request->capability() == nullptr || request->files() == nullptr ||
      request->files()->size() > wire::kMaxRemoved)
    return {Code::malformed, "removal"};
  std::vector<std::uint64_t> files = wire::numbers(request->files());
  const wire::Capability& capability = *request->capability();
  Status status = check(capability, wire::kRightRemove);
  if (status.ok() && capability.file() != removal_digest(files, request->until()))
    status = Status(Code::bad_capability, "the capability is for another removal");
  if (!status.ok()) {
    reply(wire::Type::remove_objects, frame.id, status);
    return {};
  }
  const Nanos now = server_.cluster_clock_.now();
  for (const std::uint64_t file : files) server_.removed_.add(ObjectId{file}, Nanos(request->until()), now);
  server_.dispatcher_.removed(server_.removed_);
  scope_.spawn(do_remove_objects(frame.id, std::move(files)));
  return {};
}

Task<void> DataSession::do_remove_objects(std::uint64_t id, std::vector<std::uint64_t> files) {
  constexpr std::size_t kTurn = 32;  // removals in a row before others have their turn
  Status first;
  std::vector<std::uint64_t> failed;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i % kTurn == kTurn - 1) co_await server_.env_.clock.sleep(Nanos(1));
    const std::uint64_t file = files[i];
    const Status status = co_await server_.store_.remove(ObjectId{file});
    if (status.ok()) continue;
    if (first.ok()) first = status;
    failed.push_back(file);
  }
  flatbuffers::FlatBufferBuilder builder(256);
  const auto message = message_of(builder, first);
  const auto list = builder.CreateVector(failed);
  builder.Finish(wire::CreateRemoveObjectsReply(builder, code_of(first), message, list));
  connection().send(wire::reply_type(wire::Type::remove_objects), id, wire::bytes(builder)).ignore();
}

Status DataSession::next_data(const Frame& frame) {
  const auto* request = wire::parse<wire::NextDataRequest>(frame.payload);
  if (request == nullptr || request->capability() == nullptr || request->offset() > wire::kMaxOffset)
    return {Code::malformed, "request for the next data"};
  if (const Status status = check(*request->capability(), wire::kRightRead); !status.ok()) {
    reply(wire::Type::next_data, frame.id, status);
    return {};
  }
  scope_.spawn(do_next_data(frame.id, ObjectId{request->capability()->file()}, Bytes(request->offset())));
  return {};
}

Task<void> DataSession::do_next_data(std::uint64_t id, ObjectId object, Bytes offset) {
  const auto found = co_await server_.store_.next_data(object, offset);
  reply_length(wire::Type::next_data, id, found);
}

void DataSession::reply_length(wire::Type type, std::uint64_t id,
                               const Result<std::optional<Bytes>>& length) {
  flatbuffers::FlatBufferBuilder builder(256);
  const Status status = length.status();
  const auto message = message_of(builder, status);
  const bool exists = length.ok() && length->has_value();
  builder.Finish(
      wire::CreateLengthReply(builder, code_of(status), message, exists, exists ? (*length)->count() : 0));
  connection().send(wire::reply_type(type), id, wire::bytes(builder)).ignore();
}

Status DataSession::truncate(const Frame& frame) {
  const auto* request = wire::parse<wire::TruncateRequest>(frame.payload);
  if (request == nullptr || request->capability() == nullptr) return {Code::malformed, "truncate request"};
  Status status = check(*request->capability(), wire::kRightWrite);
  if (status.ok() && request->length() > wire::kMaxOffset)
    status = Status(Code::too_large, "the length is too large");
  if (status.ok()) status = check_lock(ObjectId{request->capability()->file()}, request->lock());
  if (!status.ok()) {
    reply(wire::Type::truncate, frame.id, status);
    return {};
  }
  auto work = server_.dispatcher_.blank();
  if (request->lock() != nullptr) work->lock = *request->lock();
  work->work = Work::truncate;
  work->write = true;
  work->truncate = {Bytes(request->length()), request->cut(), request->grow()};
  if (request->number() != 0) {
    client_->replay->forget_before(request->unanswered());
    work->number = request->number();
    work->applied = client_->replay->applied(work->number, Transfer::kWhole, 0);
  }
  enqueue(std::move(work), frame, ObjectId{request->capability()->file()}, request->tag());
  return {};
}

Status DataSession::check_lock(ObjectId object, const wire::Lock* lock) const {
  if (lock == nullptr || !server_.fences_.lost(object, client_id_, *lock)) return {};
  return {Code::stale, "the lock was lost: others may have changed what it protected"};
}

Status DataSession::fence(const Frame& frame) {
  const auto* request = wire::parse<wire::FenceRequest>(frame.payload);
  if (request == nullptr || request->capability() == nullptr || request->proof() == nullptr ||
      !wire::aligned(request->lost()) ||
      (request->lost() != nullptr && request->lost()->size() > wire::kMaxLostLocks))
    return {Code::malformed, "fence request"};
  std::vector<wire::LostLock> lost;
  if (request->lost() != nullptr) {
    for (const wire::LostLock* lock : *request->lost()) lost.push_back(*lock);
  }
  const std::uint64_t file = request->capability()->file();
  Status status = check(*request->capability(), wire::kRightLength);
  if (status.ok())
    status = server_.key_.check(*request->proof(), wire::kRightFence, server_.cluster_clock_.now());
  if (status.ok() && request->proof()->file() != fence_digest(file, lost, request->epoch()))
    status = Status(Code::bad_capability, "the proof is for another fence");
  if (!status.ok()) {
    reply(wire::Type::fence, frame.id, status);
    return {};
  }
  server_.fences_.add(ObjectId{file}, lost, request->epoch());
  scope_.spawn(do_fence(frame.id, ObjectId{file}));
  return {};
}

Task<void> DataSession::do_fence(std::uint64_t id, ObjectId object) {
  while (server_.dispatcher_.fence(object, server_.fences_)) co_await server_.env_.clock.sleep(kFencePause);
  reply(wire::Type::fence, id, Status());
}

}  // namespace tutti
