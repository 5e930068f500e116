// What the gate's experiments have in common: the paper's file system, the constants of backoff, the columns.
//
// The paper's set-up: nodes of 16 cores, one NFSv3 server, Linux 2.6.32, IOR. It does not state network, disks, export mode, the constants
// of backoff, or start times. Assumed, the same everywhere:
//  - The server writes through to one disk of the model of all experiments. Checkpoints lie within its outer 24 GiB, as on a
//    file system that is hardly filled: one job alone then writes 78 MB/s, which is what the paper's figures come to.
//  - A client has 16 requests of 32 KiB in flight. So two jobs make the heads move every 512 KiB.
//  - Jobs are submitted at random within a minute, "together" is within half a second.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lab/experiments/experiment.h"
#include "lab/experiments/gate/run.h"

namespace tutti::gatelab {

using StorageMaker = std::function<std::unique_ptr<SharedStorage>(Simulation&, Random)>;

// The paper's file system; with several servers, so many of them beside each other.
StorageMaker paper_storage(std::uint32_t servers = 1);
// n writers move `alone` * share(n) bytes per second together.
StorageMaker curve_storage(double alone, std::function<double(std::size_t)> share);

// The constants were set before the first run and not fitted to any mix; the pause makes a quiet system take the paper's 4.03 s.
// The threshold is at 85 % of the quiet throughput of that storage.
gate::BackoffOptions backoff_options(const StorageMaker& storage);
// A mix that no figure is made of: other constants of backoff were tried on it afterwards.
std::vector<JobSpec> calibration_mix(std::uint64_t seed);

// Up to when jobs are submitted that are not started together.
inline constexpr Nanos kStarts = 60_s;
inline constexpr Nanos kTogether = 500_ms;

// Nothing, stagger, backoff, lock, gate.
const std::vector<Method>& usual_columns();

// One column over its seeds.
struct Column {
  Method method = Method::nothing;
  std::string name;
  std::vector<RunResult> runs;
  [[nodiscard]] double mean(const std::function<double(const RunResult&)>& of) const;
  [[nodiscard]] double io() const;  // per job
};

// Each column with the same seeds; `jobs` and `change` are called for each seed and column.
std::vector<Column> run_columns(const ExperimentOptions& options, const std::vector<Method>& methods,
                                std::size_t seeds, const StorageMaker& storage,
                                const std::function<std::vector<JobSpec>(std::uint64_t seed)>& jobs,
                                const std::function<void(RunOptions&)>& change = {});
// The same on Tutti: nothing under `fcfs`, `window` and `orchestrated`, then the lock and the default gate over `fcfs`.
std::vector<Column> run_on_tutti(const ExperimentOptions& options, std::size_t seeds,
                                 const std::function<std::vector<JobSpec>(std::uint64_t seed)>& jobs);
// Rows of those, and what each saves of the I/O time under `fcfs`.
void add_tutti(Report& report, Json parameters, const std::vector<Column>& columns);
const Column& column(const std::vector<Column>& columns, Method method);
// What is saved of the I/O time of nothing, mean over the seeds.
double saving(const std::vector<Column>& columns, Method method);
// For each seed.
std::vector<double> savings(const std::vector<Column>& columns, Method method);

// A row of each column: times and their parts, counts, core hours.
void add_rows(Report& report, Json parameters, const std::vector<Column>& columns);
// Rows of what 1 to 10 writers move together over what one does, with jumps and busy time; figures eta_2 and eta_10.
double add_efficiency(Report& report, const StorageMaker& storage);
// The first run of the column as a picture.
void add_picture(Report& report, const std::string& name, const Column& column,
                 const std::vector<JobSpec>& jobs);
std::string settings(std::size_t seeds, const gate::BackoffOptions& backoff);

}  // namespace tutti::gatelab
