#include "server/coordinator/coordinator_server.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>

#include "base/version.h"
#include "server/coordinator/coordinator_session.h"
#include "server/greeting.h"
#include "server/meta/codec.h"

namespace tutti {
namespace {

constexpr std::uint8_t kRecordVersion = 1;
constexpr std::size_t kMaxComplaints = 1024;  // peers remembered
const char* const kClusterKey = "C";

// Whose store this is: made at the first start, checked at every other.
Status check_cluster(KvWriter& kv, std::uint64_t cluster) {
  Result<std::optional<std::string>> stored = kv.get(kClusterKey);
  if (!stored.ok()) return stored.status();
  if (!stored->has_value()) {
    return kv.put(kClusterKey, meta::Encoder().number(kRecordVersion).number(cluster).take());
  }
  meta::Decoder decoder(**stored);
  const auto version = decoder.number<std::uint8_t>();
  const auto owner = decoder.number<std::uint64_t>();
  if (!decoder.sound()) return {Code::malformed, "the store of the coordinator is damaged"};
  if (version > kRecordVersion)
    return {Code::version, "a newer Tutti wrote the store of the coordinator: use that one"};
  if (owner == cluster) return {};
  return {Code::invalid,
          fmt::format("the store belongs to cluster {:x}, not to {:x}: correct the configuration", owner,
                      cluster)};
}

}  // namespace

class CoordinatorServer::Session {
 public:
  Session(CoordinatorServer& server, std::unique_ptr<Connection> connection)
      : server_(server),
        connection_(std::move(connection)),
        coordination_(server.coordinator_, *connection_) {
    ++server_.sessions_;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { --server_.sessions_; }

  Task<void> run() {
    const auto client =
        co_await greet(server_.env_, *connection_, server_.cluster_, server_.clock_, "coordinator");
    if (client.code() == Code::malformed) complain(client.status().message());
    if (!client.ok()) co_return;
    for (;;) {
      const Result<Frame> frame = co_await connection_->receive();
      if (!frame.ok()) co_return;
      if (handle(*frame)) continue;
      complain(fmt::format("message of type {} is malformed or unknown", frame->type));
      co_return;
    }
  }

 private:
  bool handle(const Frame& frame) {
    if (CoordinatorSession::knows(frame.type)) return coordination_.handle(frame);
    return frame.type == wire::request_type(wire::Type::status) && on_status(frame);
  }

  bool on_status(const Frame& frame) {
    if (wire::parse<wire::StatusRequest>(frame.payload) == nullptr) return false;
    const Result<PolicyRecord> record = server_.coordinator_.policy().read();
    flatbuffers::FlatBufferBuilder builder(512);
    const auto kind = builder.CreateString("coordinator");
    const auto version = builder.CreateString(kVersion.data(), kVersion.size());
    const auto policy = builder.CreateString(record.ok() ? record->now.policy : "");
    const auto leases = builder.CreateVectorOfStructs(to_wire(server_.coordinator_.members().leases()));
    const Orchestrator* orchestrator = server_.coordinator_.conductor().orchestrator();
    flatbuffers::Offset<flatbuffers::Vector<const wire::OrchestraProgram*>> programs;
    if (orchestrator != nullptr) programs = builder.CreateVectorOfStructs(to_wire(*orchestrator, {}));
    wire::ServerStatusReplyBuilder reply(builder);
    wire::OrchestraState state;
    if (orchestrator != nullptr) {
      state = state_to_wire(*orchestrator);
      reply.add_programs(programs);
      reply.add_orchestra(&state);
    }
    reply.add_kind(kind);
    reply.add_version(version);
    reply.add_policy(policy);
    reply.add_uptime((server_.env_.clock.now() - server_.started_).count());
    reply.add_sessions(server_.sessions_ - server_.coordinator_.members().connected());
    reply.add_leases(leases);
    builder.Finish(reply.Finish());
    connection_->send(wire::reply_type(wire::Type::status), frame.id, wire::bytes(builder)).ignore();
    return true;
  }

  void complain(const std::string& about) {
    const std::string& name = connection_->peer().name;
    if (server_.complained_.size() >= kMaxComplaints) server_.complained_.clear();
    if (!server_.complained_.insert(name).second) return;
    server_.env_.log.warn("closing the connection of {}: {}", name, about);
  }

  CoordinatorServer& server_;
  std::unique_ptr<Connection> connection_;
  CoordinatorSession coordination_;
};

CoordinatorServer::CoordinatorServer(Env env, Kv& kv, ServerKey key, std::uint64_t cluster,
                                     CoordinatorOptions options)
    : env_(env),
      kv_(kv),
      cluster_(cluster),
      started_(env.clock.now()),
      clock_(env.clock),
      coordinator_(env, kv, key, std::move(options)),
      scope_(env.clock.executor()) {}

Task<Status> CoordinatorServer::open() {
  std::function<Status(KvWriter&)> body = [cluster = cluster_](KvWriter& kv) {
    return check_cluster(kv, cluster);
  };
  const Status status = co_await kv_.update(std::move(body));
  if (!status.ok()) co_return status.with_context("open the store of the coordinator");
  co_return co_await coordinator_.open();
}

Task<Status> CoordinatorServer::serve(std::unique_ptr<Listener> listener) {
  for (;;) {
    Result<std::unique_ptr<Connection>> connection = co_await listener->accept();
    if (!connection.ok()) co_return connection.status();
    scope_.spawn(run_session(*std::move(connection)));
  }
}

Task<void> CoordinatorServer::run_session(std::unique_ptr<Connection> connection) {
  Session session(*this, std::move(connection));
  co_await session.run();
}

}  // namespace tutti
