#include "server/data/data_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/version.h"
#include "env/combine.h"
#include "server/data/status_reply.h"
#include "server/data/transfer_request.h"

namespace tutti {
namespace {

constexpr Nanos kSessionPatience = 10_s;  // for the first message of a peer

}  // namespace

DataSession::DataSession(DataServer& server, std::unique_ptr<Connection> connection)
    : server_(server),
      client_(std::make_shared<ClientSession>(server.env_.clock.executor(), std::move(connection))),
      gone_(std::make_shared<Event>(server.env_.clock.executor())),
      scope_(server.env_.clock.executor()) {
  client_->user = server_.usages_.of_user(this->connection().peer().uid);
  client_->views = std::make_unique<SessionViews>(server_.views_, client_->user);
  ++client_->user->sessions;
  ++server_.connections_;
}

DataSession::~DataSession() {
  connection().close();
  --client_->user->sessions;
  --server_.connections_;
  if (const auto found = server_.sessions_.find(client_id_);
      found != server_.sessions_.end() && found->second == this) {
    server_.sessions_.erase(found);
    server_.replays_.close(connection().peer().uid, client_id_);
  }
  client_->views.reset();
  gone_->set();
}

Task<void> DataSession::run() {
  const Status why = co_await serve();
  if (why.code() == Code::malformed || why.code() == Code::version) {
    server_.env_.log.warn("{}: connection closed: {}", connection().peer().name, why.message());
  }
  connection().close();
  server_.dispatcher_.drop(*client_);
  co_await client_->drained.wait();
}

Task<Status> DataSession::serve() {
  TUTTI_CO_TRY(co_await with_timeout(server_.env_.clock, kSessionPatience, begin(), "first message"));
  for (;;) {
    Result<Frame> frame = co_await connection().receive();
    if (!frame.ok()) co_return frame.status();
    TUTTI_CO_TRY(handle(*frame));
  }
}

Task<Status> DataSession::begin() {
  Result<Frame> frame = co_await connection().receive();
  if (!frame.ok()) co_return frame.status();
  const auto* request = frame->type == wire::request_type(wire::Type::session)
                            ? wire::parse<wire::SessionRequest>(frame->payload)
                            : nullptr;
  if (request == nullptr) co_return Status(Code::malformed, "the first message is not a session request");
  Status status = co_await server_.enrolment_.wait_to_serve();
  if (request->protocol() != wire::kProtocolVersion) {
    status = Status(Code::version, fmt::format("this server speaks protocol {}, the client {}",
                                               wire::kProtocolVersion, request->protocol()));
  } else if (!fair(client_->user->sessions - 1, server_.connections_ - 1, server_.options_.max_sessions)) {
    status =
        Status(Code::busy, "the server has too many sessions, or too many of this user: wait and repeat");
  } else if (status.ok()) {
    status = co_await replace_predecessor(request->client());
  }
  if (status.ok()) {
    client_id_ = request->client();
    const ApplicationRules& rules = server_.options_.applications;
    if (rules.enforce) {
      allowed_ = rules.range_for(connection().peer().uid,
                                 request->program() != nullptr ? request->program()->string_view() : "");
    }
    client_->program = wire::text(request->program()).substr(0, wire::kMaxName);
    client_->job = wire::text(request->job()).substr(0, wire::kMaxName);
    client_->id = client_id_;
    client_->replay = server_.replays_.open(connection().peer().uid, client_id_);
    server_.sessions_.emplace(client_id_, this);
  }
  flatbuffers::FlatBufferBuilder builder;
  const auto message = message_of(builder, status);
  const auto version = builder.CreateString(kVersion.data(), kVersion.size());
  builder.Finish(wire::CreateSessionReply(builder, code_of(status), message,
                                          server_.cluster_clock_.now().count(), server_.options_.cluster,
                                          server_.options_.index, version, server_.options_.rotational));
  TUTTI_CO_TRY(connection().send(wire::reply_type(wire::Type::session), frame->id, wire::bytes(builder)));
  co_return status;
}

Task<Status> DataSession::replace_predecessor(std::uint64_t id) {
  for (;;) {
    const auto found = server_.sessions_.find(id);
    if (found == server_.sessions_.end()) co_return Status();
    DataSession& old = *found->second;
    if (old.connection().peer().uid != connection().peer().uid)
      co_return Status(Code::permission, "another user's session has this client id");
    const auto gone = old.gone_;
    old.connection().close();
    co_await gone->wait();
  }
}

Status DataSession::handle(const Frame& frame) {
  switch (static_cast<wire::Type>(frame.type)) {
    case wire::Type::read:
      return transfer(frame, false);
    case wire::Type::write:
      return transfer(frame, true);
    case wire::Type::took:
      return local_use(frame);
    case wire::Type::view:
      return view(frame);
    case wire::Type::sync:
    case wire::Type::length:
    case wire::Type::remove_object:
      return object_request(frame);
    case wire::Type::remove_objects:
      return remove_objects(frame);
    case wire::Type::next_data:
      return next_data(frame);
    case wire::Type::list_objects:
      return list_objects(frame);
    case wire::Type::scrub:
      return scrub(frame);
    case wire::Type::truncate:
      return truncate(frame);
    case wire::Type::prefetch:
      return prefetch(frame);
    case wire::Type::fence:
      return fence(frame);
    case wire::Type::status:
      return server_status(frame);
    case wire::Type::applications:
      return applications(frame);
    default:
      return {Code::malformed, fmt::format("unknown message type {}", frame.type)};
  }
}

void DataSession::reply(wire::Type type, std::uint64_t id, const Status& status, std::uint64_t era) {
  flatbuffers::FlatBufferBuilder builder(256);
  const auto message = message_of(builder, status);
  builder.Finish(wire::CreateStatusReply(builder, code_of(status), message, era));
  connection().send(wire::reply_type(type), id, wire::bytes(builder)).ignore();
}

Status DataSession::check(const wire::Capability& capability, std::uint32_t rights) {
  const Nanos wall = server_.cluster_clock_.now();
  const bool by_server = (rights & wire::kRightRemove) != 0;
  if (std::memcmp(&capability, &genuine_, sizeof(genuine_)) == 0) {
    TUTTI_TRY(ServerKey::permits(capability, rights, wall));
  } else {
    TUTTI_TRY(server_.key_.check(capability, rights, wall));
    // Those that servers make for themselves name no user.
    const Peer& peer = connection().peer();
    if (!by_server && !peer.any_user && capability.uid() != peer.uid)
      return {Code::bad_capability,
              fmt::format("the capability was made for another user ({})", capability.uid())};
    genuine_ = capability;
  }
  if (!by_server && server_.removed_.contains(ObjectId{capability.file()})) return RemovedObjects::refusal();
  return {};
}

Status DataSession::transfer(const Frame& frame, bool write) {
  const auto* request = wire::parse<wire::TransferRequest>(frame.payload);
  if (!sound(request)) return {Code::malformed, "transfer request"};
  const wire::Tag& claim = *request->tag();
  const std::uint64_t application = allowed_.fit(claim.application());
  Dispatcher& dispatcher = server_.dispatcher_;
  if (request->took() != nullptr) dispatcher.count_local(*client_, application, *request->took());
  Status status = check(*request->capability(), write ? wire::kRightWrite : wire::kRightRead);
  if (status.ok()) status = check_lock(ObjectId{request->capability()->file()}, request->lock());
  if (status.ok() && write) status = check_turn(*request);
  if (status.ok()) status = check_room(application);
  std::unique_ptr<Transfer> transfer;
  if (status.ok()) {
    transfer = dispatcher.blank();
    status = take_over(*request, write, client_->views.get(), *transfer);
  }
  if (!status.ok()) {
    reply(write ? wire::Type::write : wire::Type::read, frame.id, status);
    return {};
  }
  transfer->frame = frame.id;
  transfer->session = client_;
  transfer->usage = client_->application;
  if (request->lock() != nullptr) transfer->lock = *request->lock();
  if (write && request->number() != 0) {
    client_->replay->forget_before(request->unanswered());
    transfer->number = request->number();
    transfer->done = transfer->applied =
        client_->replay->applied(transfer->number, transfer->length, dispatcher.cuts(transfer->object));
    if (transfer->applied == transfer->length) transfer->cuts_then = client_->replay->cuts(transfer->number);
  }
  // A client may not claim to have waited for ever, nor to come from the future.
  const Nanos wall = server_.cluster_clock_.now();
  const Nanos request_time =
      std::clamp(Nanos(claim.request_time()), wall - server_.options_.max_request_age, wall);
  const wire::Tag tag(application, claim.request_time(), claim.client(), claim.sequence(),
                      claim.bottleneck());
  dispatcher.add(std::move(transfer), tag, request_time, wall);
  return {};
}

// What is written under a lock is not held back: others may wait for the lock.
Status DataSession::check_turn(const wire::TransferRequest& request) const {
  if (request.turn() == 0 || (request.lock() != nullptr && request.lock()->number() != 0)) return {};
  if (!server_.turns_.lost(request.turn())) return {};
  return {Code::busy,
          fmt::format("the job has lost its turn at the gate (fencing number {})", request.turn())};
}

Status DataSession::check_room(std::uint64_t application) {
  if (client_->application == nullptr || client_->application_id != application) {
    client_->application = server_.usages_.of_application(connection().peer().uid, application);
    client_->application_id = application;
  }
  const DataServerOptions& options = server_.options_;
  const Dispatcher& dispatcher = server_.dispatcher_;
  const auto has_room = [&](const Usage& usage) {
    return fair(usage.requests, dispatcher.queued(), options.max_queued) &&
           fair(usage.memory.count(), dispatcher.memory().count(), options.queue_memory.count());
  };
  if (client_->queued < options.max_queued_per_session && has_room(*client_->user) &&
      has_room(*client_->application)) {
    return {};
  }
  return {Code::busy, "the server's queue is full, or its user's share of it: wait and repeat"};
}

Status DataSession::view(const Frame& frame) {
  const auto* request = wire::parse<wire::ViewRequest>(frame.payload);
  if (request == nullptr) return {Code::malformed, "view request"};
  return client_->views->declare(*request);
}

Status DataSession::local_use(const Frame& frame) {
  const auto* request = wire::parse<wire::TookRequest>(frame.payload);
  if (request == nullptr || request->tag() == nullptr || request->took() == nullptr)
    return {Code::malformed, "took request"};
  server_.dispatcher_.count_local(*client_, allowed_.fit(request->tag()->application()), *request->took());
  return {};
}

}  // namespace tutti
