// A run of the gate's experiments: a mix of jobs on a shared file system, under one method of coordination, in virtual time.
//
// A job waits in the batch queue, then computes and checkpoints in turns; its ranks meet at a barrier before they write and after
// it. A checkpoint ends when it is on the medium, and what was held for it is released after that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lab/experiments/experiment.h"
#include "lab/experiments/gate/job_mix.h"
#include "lab/experiments/gate/storage.h"
#include "lab/experiments/gate/timeline.h"
#include "policy/gate/backoff.h"
#include "policy/gate/lock_table.h"

namespace tutti::gatelab {

enum class Method : std::uint8_t {
  nothing,
  stagger,           // a job starts up to one interval later, once; no server
  backoff,           // probe, and back off while the file system is busy
  lock,              // one at a time, in the order of asking
  lock_overtaking,   // the same without order preservation
  gate,              // the default gate: as many as the storage feeds
  lock_probe,        // lock, then probe before writing
  checkpoint_probe,  // backoff whose probes are the first parts of the checkpoint
  ask_ahead,         // the lock is asked for ahead and tested between steps of computing
  drain,             // saved on the node, and written from there under the lock while the job computes
};
std::string_view method_name(Method method);

struct RunOptions {
  std::uint64_t seed = 1;
  Method method = Method::nothing;
  std::vector<JobSpec> jobs;
  std::uint32_t nodes = 1024;
  gate::BackoffOptions backoff;
  std::uint32_t holders = 1;          // of lock
  Nanos most_blocked = Nanos::max();  // of lock_overtaking
  bool sizes_known = true;            // the default gate is told what will be written
  std::function<std::unique_ptr<SharedStorage>(Simulation&, Random)> storage;
  std::string tutti =
      {};  // instead of `storage`: a cluster of Tutti with one data server under this request policy
};

struct JobResult {
  Nanos started;
  Nanos ended;
  bool killed = false;  // by its wall-time limit
  double wait = 0;      // seconds: for a grant, or backing off
  double probe = 0;
  double write = 0;
  std::vector<double> checkpoints;  // seconds of each: wait, probe, write
  std::vector<double> writes;       // of each, the write alone
  [[nodiscard]] double io() const { return wait + probe + write; }
};

struct RunResult {
  std::vector<JobResult> jobs;
  std::vector<Phase> phases;
  double makespan = 0;  // seconds from the first submission to the last end
  std::uint64_t probes = 0;
  Bytes probed;                    // written in vain
  std::uint64_t misses = 0;        // proceeded as quiet while another wrote
  std::uint64_t false_alarms = 0;  // backed off while nobody else wrote
  std::uint64_t gave_up = 0;       // proceeded at the maximum count
  std::uint64_t passed = 0;
  double longest_wait = 0;  // for a grant or a pass, at the server
  double core_hours_waiting = 0;
  double ask_overhead = 0;  // seconds between computing and writing where nobody was waited for, at least
  std::uint64_t jumps = 0;  // of the disks
  double busy = 0;          // seconds of the disks
  double written = 0;       // bytes
  std::vector<std::size_t> grants;  // jobs in the order of grants
  [[nodiscard]] double mean_io() const;
  [[nodiscard]] double total_io() const;
  // Mean over jobs of the deviation of their checkpoints over their mean.
  [[nodiscard]] double deviation() const;
};

RunResult run_mix(const RunOptions& options);
// Several at a time; results in the order of the options.
std::vector<RunResult> run_mixes(const std::vector<RunOptions>& all, const ExperimentOptions& options);

// Seconds that one probe of `size` takes on a quiet file system, the median of several.
double quiet_probe(const std::function<std::unique_ptr<SharedStorage>(Simulation&, Random)>& storage,
                   const gate::BackoffOptions& backoff);

// What n writers move together, and how the disk moved meanwhile.
struct Efficiency {
  double rate = 0;  // bytes per second
  double jumps_per_gigabyte = 0;
  double busy = 0;  // share of the time
};
Efficiency measure_efficiency(
    const std::function<std::unique_ptr<SharedStorage>(Simulation&, Random)>& storage, std::uint32_t writers,
    Bytes each);

}  // namespace tutti::gatelab
