// SimCluster: a whole cluster in one process and in virtual time, made of the product's own servers and
// clients.
//
// Node 0 holds the metadata server, nodes 1 to `servers` a data server each, the nodes after them are for
// clients; the coordinator is in the metadata server, or alone on the last node. What a server keeps (store, metadata) belongs to its node and outlives its process: stop and start
// are the death of a process and its return, lose_power() is that and the loss of what was not synced. The
// same options give the same run. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "client/file_system.h"
#include "env/sim/clock.h"
#include "env/sim/kv/memory_kv.h"
#include "env/sim/network/network.h"
#include "env/sim/network/nic.h"
#include "env/sim/simulation.h"
#include "lab/sim/sim_storage.h"
#include "server/coordinator/coordinator_server.h"
#include "server/data/data_server.h"
#include "server/meta/meta_server.h"

namespace tutti {

struct SimClusterOptions {
  std::uint64_t seed = 1;
  std::uint32_t servers = 4;       // data servers
  std::uint32_t client_nodes = 1;  // any number of client processes share one
  NicModel nic;
  FabricOptions fabric;
  SimStorageOptions storage;
  bool placed_alike = true;  // objects lie at the same places on all data servers
  // What is different under one data server, by its number; may be empty.
  std::function<void(std::uint32_t, SimStorageOptions&)> change_storage;
  std::string policy = "fcfs";
  // For experiments with policies that the product does not have; `policy` then only names it. By data server.
  std::function<std::unique_ptr<RequestPolicy>(std::uint32_t)> policy_maker;
  DataServerOptions data;        // index, cluster, boot and coordinator are set by the cluster
  MetaServerOptions meta;        // cluster, data_servers, policy and coordinator are set by the cluster
  Nanos metadata_sync = 230_us;  // what a durable commit costs
  std::vector<Nanos> skew;       // of the wall clocks, by node; missing: none
  // Whether data servers have a session with the coordinator (time, changes of the policy, advice, statistics) as in the
  // real world. It has keep-alives, so the simulation never runs dry. Without, they keep the policy they were made with.
  bool coordinated = false;
  bool coordinator_alone = false;  // on a node of its own
  gate::LockOptions gate;          // of the coordinator
  bool enrol = false;  // data servers show their stores to the metadata server, as in the real world
  Log log;             // of all servers and clients
};

// A client process on one of the client nodes. Destroying it is the death of the process.
class SimClient {
 public:
  SimClient(SimNetwork& fabric, Clock& clock, NodeId node, Peer peer, Random random, const ClusterMap& map,
            ClientOptions options, const Log& log);

  [[nodiscard]] FileSystem& files() { return *files_; }
  [[nodiscard]] Clock& clock() const { return clock_; }
  [[nodiscard]] NodeId node() const { return node_; }

 private:
  Clock& clock_;
  NodeId node_;
  std::unique_ptr<Network> network_;
  Random random_;
  std::unique_ptr<FileSystem> files_;
};

class SimCluster {
 public:
  // Code::invalid if the policy or another option is not known.
  static Result<std::unique_ptr<SimCluster>> create(const SimClusterOptions& options);
  SimCluster(const SimCluster&) = delete;
  SimCluster& operator=(const SimCluster&) = delete;
  ~SimCluster();

  // Starts all servers; returns when the metadata server is ready.
  Status start();

  [[nodiscard]] Simulation& simulation() { return simulation_; }
  [[nodiscard]] SimNetwork& fabric() { return fabric_; }
  [[nodiscard]] const SimClusterOptions& options() const { return options_; }
  [[nodiscard]] const ClusterMap& map() const { return map_; }
  [[nodiscard]] std::uint32_t servers() const { return options_.servers; }

  [[nodiscard]] static NodeId meta_node() { return 0; }
  [[nodiscard]] static NodeId data_node(std::uint32_t server) { return 1 + server; }
  [[nodiscard]] NodeId client_node(std::uint32_t node) const { return 1 + options_.servers + node; }
  // Where the coordinator is.
  [[nodiscard]] NodeId coordinator_node() const {
    return options_.coordinator_alone ? client_node(options_.client_nodes) : meta_node();
  }
  [[nodiscard]] SimClock& clock(NodeId node) { return *clocks_.at(node); }

  // options.client 0: numbered in order of creation, so that runs repeat. Must be destroyed before the
  // cluster.
  std::unique_ptr<SimClient> make_client(std::uint32_t node, Peer peer, ClientOptions options);

  // ---- servers; each call is idempotent ----
  void start_meta();
  void stop_meta();
  void lose_power_meta();
  [[nodiscard]] bool meta_running() const { return meta_ != nullptr; }
  // Of a coordinator that is alone.
  void start_coordinator();
  void stop_coordinator();
  void lose_power_coordinator();
  [[nodiscard]] bool coordinator_running() const { return coordinator_ != nullptr; }
  void start_data(std::uint32_t server);
  void stop_data(std::uint32_t server);
  void lose_power_data(std::uint32_t server);
  // A server that refused its store does not.
  [[nodiscard]] bool data_running(std::uint32_t server) const;
  // Why the server does not serve its store; ok if it does, or is stopped.
  [[nodiscard]] Status refusal(std::uint32_t server) const;

  // ---- what is under the servers; of servers that are stopped ----
  void swap_storage(std::uint32_t a, std::uint32_t b);
  // A new store as `tutti server init` makes it; the one of before comes back with a second call.
  void exchange_storage(std::uint32_t server);

  [[nodiscard]] SimStorage& storage(std::uint32_t server) { return *storage_.at(server); }
  [[nodiscard]] MemoryKv& metadata() { return *kv_; }
  // Null while it, or the metadata server that it is in, is stopped.
  [[nodiscard]] Coordinator* coordinator();
  // Null while it is stopped.
  [[nodiscard]] DataServer* data_server(std::uint32_t server);
  // The first error with which a server gave up by itself; ok if none did.
  [[nodiscard]] const Status& health() const { return health_; }

 private:
  struct MetaProcess;
  struct CoordinatorProcess;
  struct DataProcess;
  explicit SimCluster(const SimClusterOptions& options);
  void clear_gate_state();
  void fail(Status status);
  static Task<void> run_meta(SimCluster& cluster, MetaProcess& process, std::unique_ptr<Listener> listener);
  static Task<void> run_meta_refusal(SimCluster& cluster, MetaProcess& process);
  static Task<void> run_coordinator(SimCluster& cluster, CoordinatorProcess& process,
                                    std::unique_ptr<Listener> listener);
  static Task<void> run_data_refusal(SimCluster& cluster, DataProcess& process);
  Result<std::unique_ptr<SimStorage>> make_storage(std::uint32_t server);
  static Task<void> run_data(SimCluster& cluster, DataProcess& process, std::unique_ptr<Listener> listener);

  SimClusterOptions options_;
  Simulation simulation_;
  SimNetwork fabric_;
  ClusterMap map_;
  ServerKey key_;
  std::vector<std::unique_ptr<SimClock>> clocks_;  // by node
  std::unique_ptr<MemoryKv> kv_;
  std::unique_ptr<MemoryKv> coordinator_kv_;  // of one that is alone
  std::unique_ptr<MemoryKv> gate_state_;      // of whoever is the coordinator: gone with the power
  std::vector<std::unique_ptr<SimStorage>> storage_;
  std::vector<std::unique_ptr<SimStorage>> aside_;  // taken out by exchange_storage(), by data server
  std::vector<std::uint64_t> losses_;               // of power, by data server
  std::unique_ptr<MetaProcess> meta_;
  std::unique_ptr<CoordinatorProcess> coordinator_;
  std::vector<std::unique_ptr<DataProcess>> data_;
  std::uint64_t next_client_ = 1;
  Status health_;
};

}  // namespace tutti
