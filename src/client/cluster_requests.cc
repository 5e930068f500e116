// What a client asks about the cluster as a whole.
#include <algorithm>
#include <map>

#include "client/file_system.h"
#include "client/file_system_impl.h"
#include "env/combine.h"

namespace tutti {
namespace {

ClusterPolicy to_policy(const Channel::Reply& reply) {
  const auto* message = flatbuffers::GetRoot<wire::ClusterReply>(reply.payload.data());
  ClusterPolicy policy;
  policy.policy = wire::text(message->policy());
  policy.version = message->version();
  policy.from = Nanos(message->from());
  policy.previous = wire::text(message->previous());
  policy.now = Nanos(message->wall());
  return policy;
}

// A question without fields; both kinds are the same on the wire.
Task<Result<Channel::Reply>> ask_once(ServerSession& server, wire::Type type, Nanos patience) {
  auto channel = co_await server.connect_once(patience);
  if (!channel.ok()) co_return channel.status();
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(wire::CreateStatusRequest(builder));
  co_return co_await (*channel)->call(wire::request_type(type), wire::bytes(builder));
}

Task<Result<Channel::Reply>> ask_within(const Env& env, ServerSession& server, wire::Type type,
                                        Nanos patience) {
  co_return co_await with_timeout(env.clock, patience, ask_once(server, type, patience), "status");
}

using Servers = std::vector<std::unique_ptr<ServerSession>>;

Task<std::vector<Result<Channel::Reply>>> ask_for_applications(const Env& env, const Servers& servers,
                                                               Nanos patience) {
  std::vector<Task<Result<Channel::Reply>>> tasks;
  for (const auto& server : servers)
    tasks.push_back(ask_within(env, *server, wire::Type::applications, patience));
  co_return co_await when_all(std::move(tasks));
}

void merge(ApplicationMerger& merger, ServerSession& server, const Result<Channel::Reply>& reply) {
  const Status status = reply.ok() ? merger.add(reply->payload) : reply.status();
  if (!status.ok()) merger.silent(status.with_context(server.name()).to_string());
}

// What a server says of itself.
void read_status(const Channel::Reply& reply, ServerStatus& row) {
  const auto* message = wire::parse<wire::ServerStatusReply>(reply.payload);
  row.reachable = message != nullptr ? wire::status_of(*message) : Status(Code::malformed, "status reply");
  if (!row.reachable.ok()) return;
  row.version = wire::text(message->version());
  row.policy = wire::text(message->policy());
  row.uptime = Nanos(message->uptime());
  row.total = Bytes(message->total());
  row.free = Bytes(message->free());
  row.disk = message->disk();
  row.sessions = message->sessions();
  row.queued = message->queued();
  row.in_service = message->in_service();
  row.reads = message->reads();
  row.writes = message->writes();
  row.files = message->files();
  row.bytes_read = Bytes(message->bytes_read());
  row.bytes_written = Bytes(message->bytes_written());
  row.requests_per_second = message->requests_per_second();
  if (message->leases() != nullptr && wire::aligned(message->leases())) {
    for (const wire::Lease* lease : *message->leases())
      row.leases.push_back(
          {lease->index(), lease->connected(), Nanos(lease->since()), Nanos(lease->heard())});
  }
  row.switches = message->switches();
  row.filled = message->filled();
  row.drain = Nanos(message->drain());
  row.longest_drain = Nanos(message->longest_drain());
  if (const wire::OrchestraState* state = message->orchestra(); state != nullptr) {
    OrchestraStatus& orchestra = row.orchestra.emplace();
    orchestra = {state->jump(),      state->with(),          state->without(),
                 state->predicted(), Nanos(state->window()), {}};
    if (message->programs() != nullptr && wire::aligned(message->programs())) {
      for (const wire::OrchestraProgram* each : *message->programs()) {
        orchestra.programs.push_back({each->application(), each->gap(), each->ratio(), each->spread(),
                                      each->reuse(), each->part(), each->files(), each->eligibility()});
      }
    }
  }
}

Task<ServerStatus> server_status(const Env& env, ServerSession& server, const char* kind, std::uint32_t index,
                                 Nanos patience) {
  ServerStatus row;
  row.address = server.address();
  row.kind = kind;
  row.index = index;
  const auto reply = co_await ask_within(env, server, wire::Type::status, patience);
  row.reachable = reply.status();
  if (reply.ok()) read_status(*reply, row);
  co_return row;
}

// Of a data server, which is waited for while there is hope.
Task<ServerStatus> status_of_data(ServerSession& server) {
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(wire::CreateStatusRequest(builder));
  ServerStatus row;
  const auto reply = co_await server.call<wire::ServerStatusReply>(wire::request_type(wire::Type::status),
                                                                   wire::bytes(builder));
  row.reachable = reply.status();
  if (reply.ok()) read_status(*reply, row);
  co_return row;
}

}  // namespace

Task<Result<ClusterPolicy>> FileSystem::policy() {
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(wire::CreateClusterRequest(builder));
  const auto reply =
      co_await impl_->ask_coordinator<wire::ClusterReply>(wire::Type::cluster, wire::bytes(builder));
  if (!reply.ok()) co_return reply.status();
  co_return to_policy(*reply);
}

Task<Result<ClusterPolicy>> FileSystem::set_policy(std::string policy) {
  flatbuffers::FlatBufferBuilder builder(256);
  const auto text = builder.CreateString(policy);
  builder.Finish(wire::CreateSetPolicyRequest(builder, text));
  const auto reply =
      co_await impl_->ask_coordinator<wire::ClusterReply>(wire::Type::set_policy, wire::bytes(builder));
  if (!reply.ok()) co_return reply.status();
  co_return to_policy(*reply);
}

Task<std::vector<ServerStatus>> FileSystem::status(Nanos patience) {
  std::vector<Task<ServerStatus>> tasks;
  tasks.push_back(server_status(impl_->env, impl_->meta, "meta", 0, patience));
  if (impl_->coordinator)
    tasks.push_back(server_status(impl_->env, *impl_->coordinator, "coordinator", 0, patience));
  for (std::size_t i = 0; i < impl_->data.size(); ++i) {
    tasks.push_back(
        server_status(impl_->env, *impl_->data[i], "data", static_cast<std::uint32_t>(i), patience));
  }
  co_return co_await when_all(std::move(tasks));
}

Task<ApplicationReport> FileSystem::applications(Nanos patience) {
  const auto replies = co_await ask_for_applications(impl_->env, impl_->data, patience);
  ApplicationMerger merger;
  for (std::size_t i = 0; i < replies.size(); ++i) merge(merger, *impl_->data[i], replies[i]);
  co_return merger.take();
}

Task<std::vector<ApplicationReport>> FileSystem::applications_by_server(Nanos patience) {
  const auto replies = co_await ask_for_applications(impl_->env, impl_->data, patience);
  std::vector<ApplicationReport> reports;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    ApplicationMerger merger;
    merge(merger, *impl_->data[i], replies[i]);
    reports.push_back(merger.take());
  }
  co_return reports;
}

SpaceInfo space_of(const std::vector<ServerStatus>& data_servers) {
  struct Disk {
    Bytes total, free;
    std::uint64_t servers = 0;
  };
  std::map<std::uint64_t, Disk> disks;
  std::uint64_t unknown = UINT64_MAX;  // each a disk of its own
  for (const ServerStatus& server : data_servers) {
    Disk& disk = disks[server.disk != 0 ? server.disk : unknown--];
    disk.total = server.total;
    disk.free = disk.servers == 0 ? server.free : std::min(disk.free, server.free);
    ++disk.servers;
  }
  SpaceInfo sum;
  sum.free = Bytes::max();
  for (const auto& [name, disk] : disks) {
    sum.total += disk.total;
    sum.used += disk.total - std::min(disk.free, disk.total);
    // Each server gets the same share of a file: the disk that is full first ends it for all.
    const std::uint64_t whole = disk.free.count() / disk.servers * data_servers.size();
    const std::uint64_t rest = disk.free.count() % disk.servers * data_servers.size() / disk.servers;
    sum.free = std::min(sum.free, Bytes(whole + rest));
  }
  return sum;
}

Task<Result<SpaceInfo>> FileSystem::space() {
  std::vector<Task<ServerStatus>> tasks;
  for (const auto& server : impl_->data) tasks.push_back(status_of_data(*server));
  const std::vector<ServerStatus> servers = co_await when_all(std::move(tasks));
  for (std::size_t i = 0; i < servers.size(); ++i)
    TUTTI_CO_TRY(servers[i].reachable.with_context("space of " + impl_->data[i]->name()));
  co_return space_of(servers);
}

}  // namespace tutti
