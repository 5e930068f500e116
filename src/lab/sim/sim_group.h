// SimGroup: the ranks of a simulated program as a Group, by messages over the modelled network.
//
// Each rank listens under an address of its own and connects to another when it first sends to it. Small
// collective calls take as many steps as the logarithm of the ranks (dissemination); what they cost is what
// the messages cost. As in MPI, whoever waits polls, so nobody has to be woken; a message of up to kEager bytes goes as
// it is, a longer one is announced, and moves as bulk data once its receiver has a place for it, in chunks that share
// the cards with what else they move. A rank that dies breaks the group for those that wait for it.
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

  static constexpr std::size_t kEager = 16 << 10;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(addresses_.size()); }
  Task<Status> barrier() override;
  Task<Status> broadcast(int root, std::span<std::byte> bytes) override;
  Task<Status> allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  Task<Status> allreduce(Reduce reduce, std::span<std::int64_t> values) override;
  Task<Status> exchange(std::span<const Outgoing> send, std::span<const Incoming> receive) override;

 private:
  // Something that has come from one rank: bytes, the announcement of a long message, or the word that it has moved.
  struct Item {
    std::uint16_t type = 0;
    std::vector<std::byte> bytes;
  };
  // What has come from one rank and is not yet taken.
  struct Inbox {
    explicit Inbox(Executor& executor) : arrived(executor) {}
    std::deque<Item> items;
    std::size_t taken = 0;  // of the first item's bytes
    std::unique_ptr<Connection> connection;
    Status broken;
    Event arrived;
  };
  // The way to one rank.
  struct Outbox {
    explicit Outbox(Executor& executor) : granted(executor) {}
    std::unique_ptr<Connection> connection;
    std::deque<std::uint64_t> regions;  // that the receiver has a place for a long message in
    Status broken;
    Event granted;
  };

  SimGroup(Executor& executor, std::unique_ptr<Network> network, std::vector<std::string> addresses,
           int rank);
  Task<void> accept(std::unique_ptr<Listener> listener);
  Task<void> read_from(std::unique_ptr<Connection> connection);
  Task<void> read_grants(Outbox& outbox);
  Task<Status> connect(int to);
  Task<Status> send_long(Outbox& outbox, std::span<const std::byte> bytes);
  Task<Status> receive_long(Inbox& inbox, int from, std::span<std::byte> bytes);
  Task<Status> next_item(Inbox& inbox);
  Task<Status> send(int to, std::span<const std::byte> bytes);
  Task<Status> receive(int from, std::span<std::byte> bytes);
  [[nodiscard]] int neighbour(int distance) const { return (rank_ + distance + size()) % size(); }

  Executor& executor_;
  std::unique_ptr<Network> network_;
  std::vector<std::string> addresses_;
  int rank_;
  std::vector<std::unique_ptr<Outbox>> out_;
  std::vector<std::unique_ptr<Inbox>> in_;
  Scope scope_;
};

}  // namespace tutti
