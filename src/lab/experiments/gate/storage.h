// SharedStorage: the file system that the jobs of the gate's experiments write their checkpoints to.
//
// Three kinds. NfsStorage is the paper's: servers that write through to a modelled disk; what it loses when several write at
// once comes from the heads. CurveStorage shares rate(n) evenly among n writers: rates as wanted, for questions about them.
// TuttiStorage (tutti_storage.h) is a cluster of Tutti.
//
// A write ends when all of it is on the medium, as the close of a file on NFS does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/extent.h"
#include "base/random.h"
#include "env/clock.h"
#include "env/scope.h"
#include "env/sim/clock.h"
#include "env/sim/device/parameters.h"
#include "env/sim/device/placement.h"
#include "env/sim/device/queue.h"
#include "env/sim/simulation.h"
#include "env/sync.h"

namespace tutti::gatelab {

class SharedStorage {
 public:
  SharedStorage() = default;
  SharedStorage(const SharedStorage&) = delete;
  SharedStorage& operator=(const SharedStorage&) = delete;
  virtual ~SharedStorage() = default;

  // A new file of `size`, in even parts on these servers, from the job's node; ends when it is closed.
  virtual Task<void> write(std::uint64_t job, std::vector<std::uint32_t> servers, Bytes size) = 0;
  // What a run on it prints.
  [[nodiscard]] virtual std::uint64_t jumps() const { return 0; }
  [[nodiscard]] virtual Nanos busy() const { return {}; }
};

// One NFSv3 server, or several beside each other.
//
// A client sends WRITEs of `wsize`, at most `slots` at a time (Linux' RPC slot table); they share the server's network card;
// `threads` nfsd serve them in the order of arrival, each until its bytes are on the medium; the disk and its scheduler are the
// models of every experiment. Creating, closing and removing a file each write a block of the journal. Files lie anywhere
// within `span`.
struct NfsOptions {
  std::uint32_t servers = 1;
  HddParameters disk = default_hdd();
  std::string scheduler = "deadline";
  std::size_t queue_depth = 0;  // of the disk; 0: its own
  Bytes span = 24_GiB;          // the part of the disk, from its outer edge, in which files lie
  Bytes wsize = 32_KiB;
  std::size_t slots = 16;                    // requests of one client at a time
  std::size_t threads = 8;                   // of the server
  std::uint64_t network_rate = 117'000'000;  // bytes per second: Gigabit Ethernet with TCP
  Nanos latency = 50_us;                     // of a message
};

class NfsStorage final : public SharedStorage {
 public:
  NfsStorage(Simulation& simulation, const NfsOptions& options, Random random);
  ~NfsStorage() override;

  Task<void> write(std::uint64_t job, std::vector<std::uint32_t> servers, Bytes size) override;
  [[nodiscard]] std::uint64_t jumps() const override;
  [[nodiscard]] Nanos busy() const override;

 private:
  struct Server;
  static Task<void> write_part(NfsStorage& storage, Server& server, ObjectId file, Bytes size);
  static Task<void> rpc(NfsStorage& storage, Server& server, ObjectId file, Extent extent,
                        std::shared_ptr<Semaphore> slots);
  static Task<void> journal(Server& server);

  NfsOptions options_;
  SimClock clock_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::uint64_t next_file_ = 1;
};

// n writers on a server move rate(n) bytes per second together, in even shares.
class CurveStorage final : public SharedStorage {
 public:
  CurveStorage(Simulation& simulation, std::function<double(std::size_t)> rate, std::uint32_t servers = 1);

  Task<void> write(std::uint64_t job, std::vector<std::uint32_t> servers, Bytes size) override;

 private:
  struct Writer {
    double left = 0;  // bytes
    Event* done = nullptr;
  };
  struct Server {
    std::vector<Writer*> writers;
    Nanos since;                // when `left` was true
    std::uint64_t version = 0;  // of the plan for who ends next
  };
  void account(Server& server);
  void plan(Server& server);
  static Task<void> end_next(CurveStorage& storage, Server& server, std::uint64_t version, Nanos when);
  static Task<void> write_part(CurveStorage& storage, Server& server, double bytes);

  SimClock clock_;
  std::function<double(std::size_t)> rate_;
  std::vector<std::unique_ptr<Server>> servers_;
  Scope scope_;
};

}  // namespace tutti::gatelab
