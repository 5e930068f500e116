// FaultWorld: what the workers and the saboteur of one fault schedule share.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lab/faults/file_oracle.h"
#include "lab/faults/name_oracle.h"
#include "lab/sim/sim_cluster.h"

namespace tutti {

// The last events of a run, with their virtual time; all of them if `keep_all`.
class Journal {
 public:
  Journal(const Simulation& simulation, bool keep_all) : simulation_(simulation), keep_all_(keep_all) {}
  void add(const std::string& line);
  [[nodiscard]] std::vector<std::string> lines() const { return {lines_.begin(), lines_.end()}; }

 private:
  static constexpr std::size_t kKept = 200;
  const Simulation& simulation_;
  bool keep_all_;
  std::deque<std::string> lines_;
};

// A file that all clients write and read, and its oracle.
struct WatchedFile {
  std::string path;
  Bytes reach;  // operations stay below this offset
  std::uint64_t inode = 0;
  std::unique_ptr<FileOracle> oracle;
  std::vector<std::uint64_t> losses;  // by data server: how often it lost what was not synced
};

// A file to which one lane appends block after block, while others read at its end. A block lies on one server and is one
// message, so that it is there or not; one that failed is repeated before the next. So no read may find a hole, unless
// power or a store failed.
struct AppendLog {
  static constexpr Bytes kBlock = 512_B;
  std::string path;
  std::uint64_t acknowledged = 0;  // blocks
  std::uint64_t begun = 0;
};

// A block that all lanes change, each under a lock: it reads the number that is there and writes a new one. A holder that
// has read finds nothing changed by those before it; so every change that was acknowledged is found by the next holder,
// and one that is in doubt is there then or never.
struct GuardedBlock {
  static constexpr Bytes kLength = 512_B;
  std::string path = "/guarded";
  std::set<std::uint64_t> possible = {0};  // numbers; 0: nothing was written
  std::uint64_t last = 0;                  // number given out
  std::uint64_t turn = 0;                  // how often a holder has read it
};

struct FaultCounts {
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes_checked = 0;
  std::uint64_t process_deaths = 0;
  std::uint64_t power_losses = 0;
  std::uint64_t cuts = 0;
  std::uint64_t store_faults = 0;
  std::uint64_t failed_syncs = 0;
  std::uint64_t wrong_stores = 0;
  std::uint64_t client_deaths = 0;
  std::uint64_t lost_locks = 0;
};

struct FaultWorld {
  FaultWorld(SimCluster& simulated, bool keep_all)
      : cluster(simulated), journal(simulated.simulation(), keep_all) {}
  [[nodiscard]] Nanos now() { return cluster.simulation().now(); }
  // The first violation ends the run.
  void violation(const std::string& what);
  // The data server lost what was not synced of the file.
  static void lost(WatchedFile& file, std::uint32_t server);
  // What the node sends from now on arrives by `until` at the latest.
  void slow_down(NodeId node, Nanos until);
  // A client on the node died in the middle of the operation: what it had sent may take effect as long as it can arrive.
  void leave_in_doubt(FileOracle& oracle, FileOracle::OperationId id, NodeId node);
  // Those that cannot take effect any more have ended; all of them if it is said.
  void end_doubts(bool all = false);

  SimCluster& cluster;
  Journal journal;
  std::vector<WatchedFile> files;
  std::vector<NameOracle> names;  // by lane, the directory /lane<N>
  std::vector<AppendLog> logs;    // by lane
  GuardedBlock guarded;
  FaultCounts counts;
  Status outcome;
  bool store_faults = false;  // EIO and ENOSPC were injected: such errors are no surprise
  Nanos healed_at;            // when the last fault so far ended, Nanos::max() while one lasts
  int faults_under_way = 0;

 private:
  struct Doubt {
    Nanos until;
    FileOracle* oracle;
    FileOracle::OperationId id;
  };
  static constexpr Nanos kService = 1_s;  // of what has arrived
  std::map<NodeId, Nanos> arrives_by_;
  std::vector<Doubt> doubts_;
};

}  // namespace tutti
