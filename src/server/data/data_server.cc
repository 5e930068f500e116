#include "server/data/data_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/version.h"
#include "env/combine.h"
#include "server/data/accounting_reply.h"

namespace tutti {
namespace {

constexpr Nanos kSessionPatience = 10_s;  // for the first message of a peer

flatbuffers::Offset<flatbuffers::String> message_of(flatbuffers::FlatBufferBuilder& builder,
                                                    const Status& status) {
  return status.ok() ? flatbuffers::Offset<flatbuffers::String>() : builder.CreateString(status.message());
}

std::uint16_t code_of(const Status& status) { return static_cast<std::uint16_t>(status.code()); }

}  // namespace

// One connected client. Its messages are handled in order of arrival: transfers go to the dispatcher, the rest is
// done at once, each in a task of its own.
class DataServer::Session {
 public:
  Session(DataServer& server, std::unique_ptr<Connection> connection)
      : server_(server),
        link_(std::make_shared<SessionLink>(server.env_.clock.executor(), std::move(connection))),
        gone_(std::make_shared<Event>(server.env_.clock.executor())),
        scope_(server.env_.clock.executor()) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    link_->connection->close();
    if (const auto found = server_.sessions_.find(client_);
        found != server_.sessions_.end() && found->second == this) {
      server_.sessions_.erase(found);
    }
    gone_->set();
  }

  Task<void> run() {
    const Status why = co_await serve();
    if (why.code() == Code::malformed || why.code() == Code::version) {
      server_.env_.log.warn("{}: connection closed: {}", connection().peer().name, why.message());
    }
    connection().close();
    server_.dispatcher_.drop(*link_);
    co_await link_->drained.wait();
  }

 private:
  Connection& connection() { return *link_->connection; }

  Task<Status> serve() {
    TUTTI_CO_TRY(co_await with_timeout(server_.env_.clock, kSessionPatience, begin(), "first message"));
    for (;;) {
      Result<Frame> frame = co_await connection().receive();
      if (!frame.ok()) co_return frame.status();
      TUTTI_CO_TRY(handle(*frame));
    }
  }

  // Agrees on the session. A predecessor with the same client id is ended first, so that nothing of it can reach
  // into the client's memory any more.
  Task<Status> begin() {
    Result<Frame> frame = co_await connection().receive();
    if (!frame.ok()) co_return frame.status();
    const auto* request = frame->type == wire::request_type(wire::Type::session)
                              ? wire::parse<wire::SessionRequest>(frame->payload)
                              : nullptr;
    if (request == nullptr) co_return Status(Code::malformed, "the first message is not a session request");
    const std::uint64_t id = frame->id;
    const std::uint64_t client = request->client();
    Status status;
    if (request->protocol() != wire::kProtocolVersion) {
      status = Status(Code::version, fmt::format("this server speaks protocol {}, the client {}",
                                                 wire::kProtocolVersion, request->protocol()));
    }
    while (status.ok()) {
      const auto found = server_.sessions_.find(client);
      if (found == server_.sessions_.end()) break;
      Session& old = *found->second;
      if (old.connection().peer().uid != connection().peer().uid) {
        status = Status(Code::permission, "another user's session has this client id");
        break;
      }
      const auto gone = old.gone_;
      old.connection().close();
      co_await gone->wait();
    }
    if (status.ok()) {
      client_ = client;
      const ApplicationRules& rules = server_.options_.applications;
      if (rules.enforce) {
        allowed_ = rules.range_for(connection().peer().uid,
                                   request->program() != nullptr ? request->program()->string_view() : "");
      }
      link_->program = wire::text(request->program()).substr(0, wire::kMaxName);
      link_->job = wire::text(request->job()).substr(0, wire::kMaxName);
      server_.sessions_.emplace(client, this);
    }
    flatbuffers::FlatBufferBuilder builder;
    const auto message = message_of(builder, status);
    const auto version = builder.CreateString(kVersion.data(), kVersion.size());
    builder.Finish(wire::CreateSessionReply(builder, code_of(status), message,
                                            server_.cluster_clock_.now().count(), server_.options_.cluster,
                                            server_.options_.index, version));
    TUTTI_CO_TRY(connection().send(wire::reply_type(wire::Type::session), id, wire::bytes(builder)));
    co_return status;
  }

  // Only a message that no honest client sends is an error here; it ends the session.
  Status handle(const Frame& frame) {
    switch (static_cast<wire::Type>(frame.type)) {
      case wire::Type::read:
        return transfer(frame, false);
      case wire::Type::write:
        return transfer(frame, true);
      case wire::Type::took:
        return took(frame);
      case wire::Type::sync:
      case wire::Type::length:
      case wire::Type::remove_object:
        return object_request(frame);
      case wire::Type::truncate:
        return truncate(frame);
      case wire::Type::status:
        return server_status(frame.id);
      case wire::Type::applications:
        return applications(frame);
      default:
        return {Code::malformed, fmt::format("unknown message type {}", frame.type)};
    }
  }

  void reply(wire::Type type, std::uint64_t id, const Status& status) {
    flatbuffers::FlatBufferBuilder builder(256);
    const auto message = message_of(builder, status);
    builder.Finish(wire::CreateStatusReply(builder, code_of(status), message, server_.options_.boot));
    connection().send(wire::reply_type(type), id, wire::bytes(builder)).ignore();
  }

  // A client shows the same capability again and again: its hash is made once.
  [[nodiscard]] Status check(const wire::Capability& capability, std::uint32_t rights) {
    const Nanos wall = server_.cluster_clock_.now();
    if (std::memcmp(&capability, &genuine_, sizeof(genuine_)) == 0)
      return ServerKey::permits(capability, rights, wall);
    Status status = server_.key_.check(capability, rights, wall);
    if (status.ok()) genuine_ = capability;
    return status;
  }

  Status transfer(const Frame& frame, bool write) {
    const auto* request = wire::parse<wire::TransferRequest>(frame.payload);
    if (request == nullptr || request->capability() == nullptr || request->tag() == nullptr ||
        request->extents() == nullptr || request->extents()->size() == 0 ||
        !wire::aligned(request->extents()) || !wire::aligned(request->segments())) {
      return {Code::malformed, "transfer request"};
    }
    if (request->took() != nullptr) {
      server_.dispatcher_.took(*link_, allowed_.fit(request->tag()->application()), *request->took());
    }
    const auto type = write ? wire::Type::write : wire::Type::read;
    Status status = check(*request->capability(), write ? wire::kRightWrite : wire::kRightRead);
    if (status.ok() && (server_.dispatcher_.queued() >= server_.options_.max_queued ||
                        server_.dispatcher_.memory() >= server_.options_.queue_memory ||
                        link_->queued >= server_.options_.max_queued_per_session)) {
      status = Status(Code::busy, "the server's queue is full: wait and repeat");
    }
    auto job = std::make_unique<Transfer>();
    if (status.ok()) status = fill(*job, *request);
    if (!status.ok()) {
      reply(type, frame.id, status);
      return {};
    }
    job->frame = frame.id;
    job->write = write;
    job->object = ObjectId{request->capability()->file()};
    job->session = link_;
    job->inside_reply = !write && job->length.count() <= std::min(request->inline_limit(), wire::kMaxInline);
    if (!write && !job->inside_reply) {
      job->take = request->take();
      job->ahead = Bytes(std::min(request->ahead(), wire::kMaxTransfer));
    }
    // A client may not claim to have waited for ever, nor to come from the future.
    const Nanos wall = server_.cluster_clock_.now();
    const Nanos request_time =
        std::clamp(Nanos(request->tag()->request_time()), wall - server_.options_.max_request_age, wall);
    const wire::Tag& claim = *request->tag();
    const wire::Tag tag(allowed_.fit(claim.application()), claim.request_time(), claim.client(),
                        claim.sequence(), claim.bottleneck());
    server_.dispatcher_.add(std::move(job), tag, request_time, wall);
    return {};
  }

  Status took(const Frame& frame) {
    const auto* request = wire::parse<wire::TookRequest>(frame.payload);
    if (request == nullptr || request->tag() == nullptr || request->took() == nullptr)
      return {Code::malformed, "took request"};
    server_.dispatcher_.took(*link_, allowed_.fit(request->tag()->application()), *request->took());
    return {};
  }

  // Takes over extents and segments, after a check of what the client claims.
  static Status fill(Transfer& job, const wire::TransferRequest& request) {
    if (request.extents()->size() > wire::kMaxExtents)
      return {Code::too_large, "too many extents in one request"};
    job.extents.reserve(request.extents()->size());
    for (const wire::Extent* extent : *request.extents()) {
      if (extent->length() == 0 || extent->length() > wire::kMaxTransfer ||
          extent->offset() > wire::kMaxOffset) {
        return {Code::invalid,
                fmt::format("extent {}+{} is empty or too large", extent->offset(), extent->length())};
      }
      job.extents.push_back(Extent{Bytes(extent->offset()), Bytes(extent->length())});
      job.length += Bytes(extent->length());
      if (job.length.count() > wire::kMaxTransfer) return {Code::too_large, "too many bytes in one request"};
    }
    job.region.id = request.region();
    if (request.segments() == nullptr) return {};
    if (request.segments()->size() > wire::kMaxSegments)
      return {Code::too_large, "too many segments in one request"};
    std::uint64_t left = job.length.count();
    job.region.segments.reserve(request.segments()->size());
    for (const wire::Segment* segment : *request.segments()) {
      if (segment->length() > left) return {Code::invalid, "segments and extents differ in length"};
      left -= segment->length();
      job.region.segments.push_back(Segment{segment->address(), segment->length()});
    }
    if (left != 0) return {Code::invalid, "segments and extents differ in length"};
    return job.region.index();
  }

  Status object_request(const Frame& frame) {
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

  Task<void> do_object_request(wire::Type type, std::uint64_t id, ObjectId object) {
    if (type == wire::Type::length) {
      const auto length = co_await server_.store_.length(object);
      flatbuffers::FlatBufferBuilder builder(256);
      const Status status = length.status();
      const auto message = message_of(builder, status);
      const bool exists = length.ok() && length->has_value();
      builder.Finish(wire::CreateLengthReply(builder, code_of(status), message, exists,
                                             exists ? (*length)->count() : 0));
      connection().send(wire::reply_type(type), id, wire::bytes(builder)).ignore();
      co_return;
    }
    Status status;
    if (type == wire::Type::sync) {
      status = co_await server_.store_.sync(object);
    } else {
      status = co_await server_.store_.remove(object);
    }
    reply(type, id, status);
  }

  Status truncate(const Frame& frame) {
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

  Task<void> do_truncate(std::uint64_t id, ObjectId object, Bytes length, bool cut, bool grow) {
    const auto now = co_await server_.store_.length(object);
    Status status = now.status();
    if (status.ok()) {
      const Bytes old = now->value_or(0_B);
      if ((cut && old > length) || (grow && old < length))
        status = co_await server_.store_.truncate(object, length);
    }
    reply(wire::Type::truncate, id, status);
  }

  Status server_status(std::uint64_t id) {
    flatbuffers::FlatBufferBuilder builder;
    const Dispatcher& dispatcher = server_.dispatcher_;
    const auto space = server_.store_.space();
    const Status status = space.status();
    const auto message = message_of(builder, status);
    const auto kind = builder.CreateString("data");
    const auto version = builder.CreateString(kVersion.data(), kVersion.size());
    const auto policy = builder.CreateString(dispatcher.policy_name());
    wire::ServerStatusReplyBuilder fields(builder);
    fields.add_code(code_of(status));
    if (!status.ok()) fields.add_message(message);
    fields.add_kind(kind);
    fields.add_index(server_.options_.index);
    fields.add_version(version);
    fields.add_policy(policy);
    fields.add_uptime((server_.env_.clock.now() - server_.started_).count());
    if (space.ok()) {
      fields.add_total(space->total.count());
      fields.add_free(space->free.count());
    }
    fields.add_sessions(static_cast<std::uint32_t>(server_.sessions_.size()));
    fields.add_queued(static_cast<std::uint32_t>(dispatcher.queued()));
    fields.add_in_service(static_cast<std::uint32_t>(dispatcher.in_service()));
    fields.add_reads(dispatcher.totals().reads);
    fields.add_writes(dispatcher.totals().writes);
    fields.add_bytes_read(dispatcher.totals().bytes_read.count());
    fields.add_bytes_written(dispatcher.totals().bytes_written.count());
    fields.add_requests_per_second(server_.dispatcher_.requests_per_second());
    builder.Finish(fields.Finish());
    return connection().send(wire::reply_type(wire::Type::status), id, wire::bytes(builder));
  }

  Status applications(const Frame& frame) {
    if (wire::parse<wire::ApplicationsRequest>(frame.payload) == nullptr)
      return {Code::malformed, "applications request"};
    const auto reply = applications_reply(server_.dispatcher_.accounts());
    return connection().send(wire::reply_type(wire::Type::applications), frame.id, wire::bytes(reply));
  }

  DataServer& server_;
  std::shared_ptr<SessionLink> link_;
  std::shared_ptr<Event> gone_;
  std::uint64_t client_ = 0;
  wire::Capability genuine_;  // the last one that was; at first one that gives no rights
  ApplicationRange allowed_;
  Scope scope_;
};

DataServer::DataServer(Env env, Store& store, std::unique_ptr<RequestPolicy> policy, ServerKey key,
                       DataServerOptions options)
    : env_(std::move(env)),
      store_(store),
      key_(key),
      options_(std::move(options)),
      started_(env_.clock.now()),
      cluster_clock_(env_.clock),
      dispatcher_(env_, store, std::move(policy), options_.boot, options_.read_grant),
      member_(env_, key_, {options_.coordinator, options_.cluster, options_.index, options_.rotational},
              cluster_clock_, dispatcher_, policy_switch_),
      policy_switch_(env_, dispatcher_, cluster_clock_, options_.rotational, [this] { member_.ask_now(); }),
      scope_(env_.clock.executor()) {}

DataServer::~DataServer() = default;

Task<Status> DataServer::serve(std::unique_ptr<Listener> listener) {
  for (;;) {
    auto connection = co_await listener->accept();
    if (!connection.ok()) co_return connection.status();
    scope_.spawn(run_session(std::move(*connection)));
  }
}

Task<void> DataServer::run_session(std::unique_ptr<Connection> connection) {
  Session session(*this, std::move(connection));
  co_await session.run();
}

}  // namespace tutti
