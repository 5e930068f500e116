// gate-capacity: storage that one job does not fill; the default gate against fixed numbers of holders, and against no gate.
#include <algorithm>
#include <cmath>

#include "lab/experiments/gate/testbed.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace gatelab;

constexpr double kAlone = 100e6;
constexpr std::uint32_t kJobs = 12;

// One job moves 1, `saturated` move as much as there is; from twice as many on `eta` of that is left, in between it falls evenly.
double share(std::size_t n, double saturated, double eta) {
  const double writers = static_cast<double>(n);
  if (writers <= saturated) return writers;
  return saturated * (1 - (1 - eta) * std::min(1.0, (writers - saturated) / saturated));
}

// Jobs that keep the storage busy for `load` of the time if they never meet.
std::vector<JobSpec> mix(std::uint64_t seed, double saturated, double load, double spread,
                         std::uint32_t checkpoints) {
  Random random(seed * 49'979'687);
  std::vector<JobSpec> jobs;
  Random sizes(77);
  for (std::uint32_t i = 0; i < kJobs; ++i) {
    JobSpec& job = jobs.emplace_back();
    job.name = "job " + std::to_string(i + 1);
    // Between 1 and `spread`, even on a logarithmic scale.
    const double size = std::pow(spread, sizes.unit());
    const double mean_size = spread > 1 ? (spread - 1) / std::log(spread) : 1;
    job.checkpoint = Bytes(static_cast<std::uint64_t>(500e6 * size / mean_size));
    const double alone = 500e6 / kAlone;
    // `kJobs` of these, each writing for `alone` of its interval, use load * saturated writers' worth.
    const double interval = alone * kJobs / (load * saturated);
    job.compute = Nanos::from_seconds((interval - alone) * (0.9 + 0.2 * sizes.unit()));
    job.checkpoints = checkpoints;
    job.start = Nanos::from_seconds(random.unit() * interval);
  }
  return jobs;
}

struct Point {
  double mean = 0;      // I/O time over that without a gate
  double makespan = 0;  // the same
  double job = 0;       // the worst job, mean over seeds
};

Point compare(const Column& nothing, const Column& gate) {
  Point point;
  point.mean = gate.io() / nothing.io();
  const auto makespan = [](const RunResult& run) { return run.makespan; };
  point.makespan = gate.mean(makespan) / nothing.mean(makespan);
  for (std::size_t job = 0; job < nothing.runs[0].jobs.size(); ++job) {
    const auto io = [job](const RunResult& run) { return run.jobs[job].io(); };
    point.job = std::max(point.job, gate.mean(io) / nothing.mean(io));
  }
  return point;
}

Result<Report> run(const ExperimentOptions& options) {
  Report report;
  const std::size_t seeds = options.quick ? 2 : 20;
  const std::uint32_t checkpoints = options.quick ? 12 : 60;
  report.settings =
      "storage by an assumed curve: one job moves 100 MB/s, 1, 2, 4 or 8 jobs all there is; with twice as "
      "many, eta of that is "
      "left; 12 jobs of 60 checkpoints; " +
      std::to_string(seeds) + " seeds of start times";
  double auto_over_best = 0;
  double auto_over_none = 0;
  double never_mean = 0;
  double never_job = 0;
  for (const double saturated : {1.0, 2.0, 4.0, 8.0}) {
    const double eta = 0.5;
    const StorageMaker storage =
        curve_storage(kAlone, [=](std::size_t n) { return share(n, saturated, eta); });
    const auto jobs = [=](std::uint64_t seed) { return mix(seed, saturated, 0.6, 1, checkpoints); };
    double best = 1e18;
    std::uint32_t best_holders = 0;
    for (const std::uint32_t holders : {1U, 2U, 3U, 4U, 6U, 8U, 12U}) {
      const std::vector<Column> fixed = run_columns(options, {Method::lock}, seeds, storage, jobs,
                                                    [holders](RunOptions& each) { each.holders = holders; });
      report.rows.push_back({{"saturated_by", saturated},
                             {"eta", eta},
                             {"column", "lock of " + std::to_string(holders)},
                             {"io_per_job", rounded(fixed[0].io())}});
      if (fixed[0].io() < best) {
        best = fixed[0].io();
        best_holders = holders;
      }
    }
    const std::vector<Column> columns =
        run_columns(options, {Method::nothing, Method::stagger, Method::gate}, seeds, storage, jobs);
    for (const Column& each : columns) {
      report.rows.push_back({{"saturated_by", saturated},
                             {"eta", eta},
                             {"column", each.name},
                             {"io_per_job", rounded(each.io())}});
    }
    const double gate = column(columns, Method::gate).io();
    report.figure("auto_over_best_" + std::to_string(static_cast<int>(saturated)), rounded(gate / best));
    report.figure("best_holders_" + std::to_string(static_cast<int>(saturated)), best_holders);
    auto_over_best = std::max(auto_over_best, gate / best);
    auto_over_none = std::max(auto_over_none, gate / column(columns, Method::nothing).io());
  }
  report.figure("auto_over_best", rounded(auto_over_best), {}, "<= 1.05");
  report.figure("auto_over_none", rounded(auto_over_none), {}, "<= 1.02");
  for (const double spread : {1.0, 100.0}) {
    for (const double saturated : {1.0, 4.0}) {
      for (const double eta : {0.2, 0.5, 0.8, 1.0}) {
        for (const double load : {0.3, 0.8}) {
          const StorageMaker storage =
              curve_storage(kAlone, [=](std::size_t n) { return share(n, saturated, eta); });
          const std::vector<Column> columns = run_columns(
              options, {Method::nothing, Method::gate}, seeds, storage,
              [=](std::uint64_t seed) { return mix(seed, saturated, load, spread, checkpoints); });
          const Point point = compare(columns[0], columns[1]);
          never_mean = std::max({never_mean, point.mean, point.makespan});
          never_job = std::max(never_job, point.job);
          report.rows.push_back({{"sizes", spread > 1 ? "1:100" : "alike"},
                                 {"saturated_by", saturated},
                                 {"eta", eta},
                                 {"load", load},
                                 {"gate_over_nothing", rounded(point.mean)},
                                 {"makespan_over_nothing", rounded(point.makespan)},
                                 {"worst_job", rounded(point.job)}});
        }
      }
    }
  }
  report.figure("never_loses_mean", rounded(never_mean), {}, "<= 1.02");
  report.figure("never_loses_job", rounded(never_job), {}, "<= 1.10");
  report.notes.push_back(
      "auto_over_...: mean I/O time of the default gate over that of the best fixed number of holders and of "
      "no gate, the worst of "
      "the four storages. never_loses_mean: I/O time and makespan, the worst of all points; never_loses_job: "
      "the worst job, mean "
      "over the seeds.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::gate_capacity = {
    "gate-capacity",
    "as many writers as the storage feeds: the default gate against fixed numbers and nothing", run};

}  // namespace tutti
