// SimGroup: the ranks of a simulated program as a Group, by messages over the modelled network.
//
// Each rank listens under an address of its own and connects to another when it first sends to it. Small
// collective calls take as many steps as the logarithm of the ranks (dissemination); what they cost is what
// the messages cost. A rank that dies breaks the group for those that wait for it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "env/group.h"
#include "env/network.h"
#include "env/scope.h"
#include "env/sync.h"
#include "lab/sim/sim_cluster.h"

namespace tutti {

class SimGroup final : public Group {
 public:
  // `addresses` of all ranks, in order. `network` is this rank's own and must outlive the group.
  static Result<std::unique_ptr<SimGroup>> create(Executor& executor, std::unique_ptr<Network> network,
                                                  std::vector<std::string> addresses, int rank);
  // One rank for each of `nodes` (client nodes of the cluster). `name` tells programs apart.
  static Result<std::vector<std::unique_ptr<SimGroup>>> create_all(SimCluster& cluster,
                                                                   const std::vector<std::uint32_t>& nodes,
                                                                   const std::string& name);
  ~SimGroup() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(addresses_.size()); }
  Task<Status> barrier() override;
  Task<Status> broadcast(int root, std::span<std::byte> bytes) override;
  Task<Status> allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  Task<Status> allreduce(Reduce reduce, std::span<std::int64_t> values) override;
  Task<Status> exchange(std::span<const Outgoing> send, std::span<const Incoming> receive) override;

 private:
  // What has come from one rank and is not yet taken.
  struct Inbox {
    explicit Inbox(Executor& executor) : arrived(executor) {}
    std::deque<std::vector<std::byte>> frames;
    std::size_t taken = 0;  // of the first frame
    Status broken;
    Event arrived;
  };

  SimGroup(Executor& executor, std::unique_ptr<Network> network, std::vector<std::string> addresses,
           int rank);
  Task<void> accept(std::unique_ptr<Listener> listener);
  Task<void> read_from(std::unique_ptr<Connection> connection);
  Task<Status> send(int to, std::span<const std::byte> bytes);
  Task<Status> receive(int from, std::span<std::byte> bytes);
  [[nodiscard]] int neighbour(int distance) const { return (rank_ + distance + size()) % size(); }

  Executor& executor_;
  std::unique_ptr<Network> network_;
  std::vector<std::string> addresses_;
  int rank_;
  std::vector<std::unique_ptr<Connection>> out_;
  std::vector<std::unique_ptr<Inbox>> in_;
  Scope scope_;
};

}  // namespace tutti
