// A program of paper 3: five processes that read or write a file in a fixed pattern until somebody stops them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "env/scope.h"
#include "lab/experiments/orchestra/testbed.h"
#include "lab/sim/barrier.h"
#include "lab/sim/sim_cluster.h"
#include "lab/sim/sim_group.h"
#include "layout/view.h"

namespace tutti::orchestra {

class Program {
 public:
  // `number` tells programs of one run apart and chooses their nodes.
  Program(SimCluster& cluster, const ProgramSpec& spec, std::size_t number);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  // All processes open the file; it exists at full length afterwards.
  Task<Status> prepare();
  void start(Nanos now);
  // No calls are begun after those under way; what was written is synced.
  void finish();
  [[nodiscard]] bool over() const { return running_ == 0; }

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] const Status& status() const { return status_; }
  // By the servers so far.
  [[nodiscard]] Bytes moved() const;
  [[nodiscard]] std::vector<double> times() const { return times_; }
  // "server 0: first to last" of its object.
  [[nodiscard]] std::string addresses() const;

 private:
  struct Process {
    std::uint32_t rank = 0;
    std::unique_ptr<SimClient> client;
    std::unique_ptr<OpenFile> file;
    std::unique_ptr<SimGroup> group;
  };
  Task<void> work(Process& process, Nanos start);
  // One call of the benchmark; extents of the file in ascending order.
  [[nodiscard]] std::vector<Extent> call(std::uint32_t rank, std::uint64_t number) const;
  Task<Status> transfer(Process& process, std::span<const Extent> extents);
  Task<Status> one_call(Process& process, std::uint64_t number);
  Task<Status> collective_call(Process& process, std::uint64_t number);
  void fail(const Status& status) {
    if (status_.ok()) status_ = status;
  }

  SimCluster& cluster_;
  ProgramSpec spec_;
  std::uint64_t id_;
  std::string name_;
  std::string path_;
  std::vector<std::uint32_t> nodes_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::unique_ptr<Barrier> barrier_;
  std::vector<std::byte> buffer_;  // of all: bytes are only counted
  std::uint64_t inode_ = 0;
  Bytes object_length_;
  Bytes done_;
  std::uint64_t begun_ = 0;                 // calls, the most of any process
  std::uint64_t last_ = ~std::uint64_t{0};  // call
  Nanos dies_ = Nanos::max();
  std::size_t running_ = 0;
  std::vector<double> times_;
  Status status_;
  Scope scope_;
};

}  // namespace tutti::orchestra
