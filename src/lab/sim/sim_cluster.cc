#include "lab/sim/sim_cluster.h"

#include <fmt/format.h>

#include <utility>

#include "base/hash.h"
#include "env/scope.h"

namespace tutti {
namespace {

constexpr std::string_view kService = "tutti";

}  // namespace

SimClient::SimClient(SimNetwork& fabric, Clock& clock, NodeId node, Peer peer, Random random,
                     const ClusterMap& map, ClientOptions options, const Log& log)
    : clock_(clock), node_(node), network_(fabric.process(node, std::move(peer))), random_(random) {
  const Env env{clock_, *network_, random_, log};
  files_ = std::make_unique<FileSystem>(env, map, std::move(options));
}

// The members that die with the process, the tasks first.
struct SimCluster::MetaProcess {
  MetaProcess(SimCluster& cluster, Random own)
      : random(own),
        server({cluster.clock(meta_node()), cluster.fabric_.node(meta_node()), random, cluster.options_.log},
               *cluster.kv_, cluster.key_, meta_options(cluster)),
        scope(cluster.simulation_.executor()) {}
  static MetaServerOptions meta_options(const SimCluster& cluster) {
    MetaServerOptions options = cluster.options_.meta;
    options.gate = cluster.options_.gate;
    options.gate_state = cluster.gate_state_.get();
    return options;
  }
  Random random;
  MetaServer server;
  bool ready = false;
  Scope scope;
};

struct SimCluster::CoordinatorProcess {
  CoordinatorProcess(SimCluster& cluster, Random own)
      : random(own),
        server({cluster.clock(cluster.coordinator_node()), cluster.fabric_.node(cluster.coordinator_node()),
                random, cluster.options_.log},
               *cluster.coordinator_kv_, cluster.key_, cluster.map_.id,
               {cluster.map_.data, cluster.options_.meta.policy, cluster.options_.meta.root_uid,
                cluster.options_.gate, cluster.gate_state_.get()}),
        scope(cluster.simulation_.executor()) {}
  Random random;
  CoordinatorServer server;
  bool ready = false;
  Scope scope;
};

struct SimCluster::DataProcess {
  DataProcess(SimCluster& cluster, std::uint32_t index, std::unique_ptr<RequestPolicy> policy, Random own)
      : random(own),
        server({cluster.clock(data_node(index)), cluster.fabric_.node(data_node(index)), random,
                cluster.options_.log},
               cluster.storage_[index]->store(), std::move(policy), cluster.key_, options(cluster, index)),
        scope(cluster.simulation_.executor()) {}
  static DataServerOptions options(const SimCluster& cluster, std::uint32_t index) {
    DataServerOptions options = cluster.options_.data;
    options.index = index;
    options.cluster = cluster.map_.id;
    options.boot = 1 + cluster.losses_.at(index);
    if (cluster.options_.coordinated)
      options.coordinator = cluster.map_.coordinator.empty() ? cluster.map_.meta : cluster.map_.coordinator;
    if (cluster.options_.enrol) options.metadata = cluster.map_.meta;
    return options;
  }
  Random random;
  DataServer server;
  Status refusal;
  Scope scope;
};

Result<std::unique_ptr<SimCluster>> SimCluster::create(const SimClusterOptions& options) {
  if (options.servers == 0) return Status(Code::invalid, "a cluster needs at least one data server");
  if (!options.policy_maker) {
    if (auto policy = make_request_policy(options.policy); !policy.ok()) return policy.status();
  }
  std::unique_ptr<SimCluster> cluster(new SimCluster(options));
  const bool phantom = options.storage.phantom;
  for (std::uint32_t server = 0; server < options.servers; ++server) {
    auto storage = cluster->make_storage(server);
    if (!storage.ok()) return storage.status().with_context(fmt::format("data server {}", server));
    cluster->storage_.push_back(std::move(*storage));
    cluster->aside_.emplace_back();
    cluster->losses_.push_back(0);
  }
  cluster->fabric_.set_phantom_data(phantom || options.fabric.phantom_data);
  return cluster;
}

Result<std::unique_ptr<SimStorage>> SimCluster::make_storage(std::uint32_t server) {
  SimStorageOptions each = options_.storage;
  if (options_.change_storage) options_.change_storage(server, each);
  if (each.store.placement.salt == 0) each.store.placement.salt = mix64(options_.seed) | 1U;
  if (!options_.placed_alike) each.store.placement.salt = mix64(each.store.placement.salt + server) | 1U;
  Random random = simulation_.random().fork();
  Random names = random.fork();
  each.identity = {map_.id, server, Uuid::make(names), Uuid(), false};
  return SimStorage::create(clock(data_node(server)), each, random);
}

SimCluster::SimCluster(const SimClusterOptions& options)
    : options_(options),
      simulation_(options.seed),
      fabric_(simulation_, options.fabric, simulation_.random().fork()),
      key_(ServerKey::from_seed(options.seed)) {
  const std::size_t nodes =
      1 + options_.servers + options_.client_nodes + (options_.coordinator_alone ? 1 : 0);
  for (std::size_t node = 0; node < nodes; ++node) {
    const NodeId id = fabric_.add_node(options_.nic);
    clocks_.push_back(std::make_unique<SimClock>(simulation_));
    if (node < options_.skew.size()) clocks_.back()->skew(options_.skew[node]);
    fabric_.set_peer(id, {.uid = 0, .gid = 0, .groups = {}, .pid = 0, .name = fmt::format("node {}", id)});
  }
  map_.id = mix64(options_.seed) | 1U;
  map_.meta = SimNetwork::address(meta_node(), kService);
  for (std::uint32_t server = 0; server < options_.servers; ++server) {
    map_.data.push_back(SimNetwork::address(data_node(server), kService));
  }
  options_.meta.cluster = map_.id;
  options_.meta.data_servers = map_.data;
  options_.meta.enrol = options_.enrol;
  options_.meta.policy = options_.policy_maker ? "fcfs" : options_.policy;
  kv_ = std::make_unique<MemoryKv>(clock(meta_node()), MemoryKvOptions{options_.metadata_sync},
                                   simulation_.random().fork());
  clear_gate_state();
  if (options_.coordinator_alone) {
    map_.coordinator = SimNetwork::address(coordinator_node(), kService);
    options_.meta.coordinator = map_.coordinator;
    coordinator_kv_ = std::make_unique<MemoryKv>(
        clock(coordinator_node()), MemoryKvOptions{options_.metadata_sync}, simulation_.random().fork());
  }
  data_.resize(options_.servers);
}

SimCluster::~SimCluster() {
  simulation_.cancel_all();
  stop_meta();
  stop_coordinator();
  for (std::uint32_t server = 0; server < options_.servers; ++server) stop_data(server);
}

Status SimCluster::start() {
  for (std::uint32_t server = 0; server < options_.servers; ++server) start_data(server);
  start_coordinator();
  start_meta();
  simulation_.run_until(
      [this] { return !health_.ok() || (meta_ && meta_->ready && (!coordinator_ || coordinator_->ready)); });
  return health_;
}

std::unique_ptr<SimClient> SimCluster::make_client(std::uint32_t node, Peer peer, ClientOptions options) {
  if (options.client == 0) options.client = next_client_++;
  const NodeId id = client_node(node);
  return std::make_unique<SimClient>(fabric_, clock(id), id, std::move(peer), simulation_.random().fork(),
                                     map_, std::move(options), options_.log);
}

void SimCluster::fail(Status status) {
  if (health_.ok()) health_ = std::move(status);
}

Task<void> SimCluster::run_meta(SimCluster& cluster, MetaProcess& process,
                                std::unique_ptr<Listener> listener) {
  Status status = co_await process.server.open();
  if (status.ok()) {
    process.ready = true;
    status = co_await process.server.serve(std::move(listener));
  }
  cluster.fail(status.with_context("metadata server"));
}

Task<void> SimCluster::run_meta_refusal(SimCluster& cluster, MetaProcess& process) {
  const Status status = co_await process.server.refused();
  cluster.fail(status.with_context("metadata server"));
}

Task<void> SimCluster::run_coordinator(SimCluster& cluster, CoordinatorProcess& process,
                                       std::unique_ptr<Listener> listener) {
  Status status = co_await process.server.open();
  if (status.ok()) {
    process.ready = true;
    status = co_await process.server.serve(std::move(listener));
  }
  cluster.fail(status.with_context("coordinator"));
}

Task<void> SimCluster::run_data(SimCluster& cluster, DataProcess& process,
                                std::unique_ptr<Listener> listener) {
  process.refusal = process.server.start();
  if (!process.refusal.ok()) co_return;
  const Status status = co_await process.server.serve(std::move(listener));
  cluster.fail(status.with_context("data server"));
}

// The process ends; what is left of it goes with the next start or stop.
Task<void> SimCluster::run_data_refusal(SimCluster& cluster, DataProcess& process) {
  const Status status = co_await process.server.refused();
  process.refusal = status;
  if (status.code() != Code::invalid) cluster.fail(status.with_context("data server"));
}

void SimCluster::start_meta() {
  if (meta_) return;
  fabric_.up(meta_node());
  auto listener = fabric_.node(meta_node()).listen(map_.meta);
  if (!listener.ok()) return fail(listener.status().with_context("metadata server"));
  meta_ = std::make_unique<MetaProcess>(*this, simulation_.random().fork());
  meta_->scope.spawn(run_meta(*this, *meta_, std::move(*listener)));
  meta_->scope.spawn(run_meta_refusal(*this, *meta_));
}

void SimCluster::stop_meta() { meta_.reset(); }

void SimCluster::lose_power_meta() {
  fabric_.down(meta_node());
  meta_.reset();
  kv_->crash();
  if (!options_.coordinator_alone) clear_gate_state();
}

void SimCluster::start_coordinator() {
  if (!options_.coordinator_alone || coordinator_) return;
  fabric_.up(coordinator_node());
  auto listener = fabric_.node(coordinator_node()).listen(map_.coordinator);
  if (!listener.ok()) return fail(listener.status().with_context("coordinator"));
  coordinator_ = std::make_unique<CoordinatorProcess>(*this, simulation_.random().fork());
  coordinator_->scope.spawn(run_coordinator(*this, *coordinator_, std::move(*listener)));
}

void SimCluster::stop_coordinator() { coordinator_.reset(); }

void SimCluster::lose_power_coordinator() {
  if (!options_.coordinator_alone) return lose_power_meta();
  fabric_.down(coordinator_node());
  coordinator_.reset();
  coordinator_kv_->crash();
  clear_gate_state();
}

// What is not synced takes place in the call, and goes with the power.
void SimCluster::clear_gate_state() { gate_state_ = std::make_unique<MemoryKv>(clock(coordinator_node())); }

Coordinator* SimCluster::coordinator() {
  if (options_.coordinator_alone) return coordinator_ ? &coordinator_->server.coordinator() : nullptr;
  return meta_ ? meta_->server.coordinator() : nullptr;
}

bool SimCluster::data_running(std::uint32_t server) const {
  return data_.at(server) != nullptr && data_[server]->refusal.ok();
}

Status SimCluster::refusal(std::uint32_t server) const {
  return data_.at(server) != nullptr ? data_[server]->refusal : Status();
}

void SimCluster::swap_storage(std::uint32_t a, std::uint32_t b) { std::swap(storage_.at(a), storage_.at(b)); }

void SimCluster::exchange_storage(std::uint32_t server) {
  if (!aside_.at(server)) {
    auto fresh = make_storage(server);
    if (!fresh.ok()) return fail(fresh.status());
    aside_[server] = *std::move(fresh);
  }
  std::swap(storage_.at(server), aside_[server]);
}

void SimCluster::start_data(std::uint32_t server) {
  if (data_running(server)) return;
  data_.at(server).reset();
  fabric_.up(data_node(server));
  auto listener = fabric_.node(data_node(server)).listen(map_.data[server]);
  if (!listener.ok()) return fail(listener.status().with_context(fmt::format("data server {}", server)));
  std::unique_ptr<RequestPolicy> policy = options_.policy_maker
                                              ? options_.policy_maker(server)
                                              : *make_request_policy(options_.policy);  // checked by create()
  data_[server] =
      std::make_unique<DataProcess>(*this, server, std::move(policy), simulation_.random().fork());
  data_[server]->scope.spawn(run_data(*this, *data_[server], std::move(*listener)));
  data_[server]->scope.spawn(run_data_refusal(*this, *data_[server]));
}

void SimCluster::stop_data(std::uint32_t server) { data_.at(server).reset(); }

void SimCluster::lose_power_data(std::uint32_t server) {
  fabric_.down(data_node(server));
  data_.at(server).reset();
  storage_[server]->lose_power();
  ++losses_[server];
}

DataServer* SimCluster::data_server(std::uint32_t server) {
  return data_.at(server) ? &data_[server]->server : nullptr;
}

}  // namespace tutti
