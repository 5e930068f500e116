// gate-beyond: probing on top of the lock, the checkpoint as its own probe, an intruder; and waiting that costs nothing.
#include "lab/experiments/gate/testbed.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace gatelab;

std::vector<JobSpec> mix(std::uint32_t jobs, std::uint64_t seed, bool intruder) {
  std::vector<JobSpec> all = random_mix(jobs, MixRanges(), Random(5000 + seed));
  if (!intruder) return all;
  // Somebody who copies 3 GB every two minutes and knows of no gate.
  JobSpec& other = all.emplace_back();
  other.name = "intruder";
  other.compute = 90_s;
  other.checkpoint = Bytes(3'000'000'000);
  other.checkpoints = 4;
  other.gated = false;
  other.start = 20_s;
  return all;
}

// Of those that know of the gate.
double gated_io(const Column& column, std::uint32_t jobs) {
  return column.mean([jobs](const RunResult& run) {
    double all = 0;
    for (std::uint32_t i = 0; i < jobs; ++i) all += run.jobs[i].io();
    return all / jobs;
  });
}

Result<Report> run(const ExperimentOptions& options) {
  Report report;
  const StorageMaker storage = paper_storage();
  const std::size_t seeds = options.quick ? 1 : 5;
  report.settings = settings(seeds, backoff_options(storage));
  add_efficiency(report, storage);
  const std::vector<Method> methods = {Method::nothing,    Method::backoff,          Method::lock,
                                       Method::lock_probe, Method::checkpoint_probe, Method::gate};
  constexpr std::uint32_t kJobs = 6;
  for (const bool intruder : {false, true}) {
    const std::vector<Column> columns =
        run_columns(options, methods, seeds, storage,
                    [intruder](std::uint64_t seed) { return mix(kJobs, seed, intruder); });
    add_rows(report, {{"intruder", intruder}}, columns);
    const double nothing = gated_io(columns[0], kJobs);
    for (const Column& each : columns) {
      if (each.method == Method::nothing) continue;
      report.figure(std::string(each.name) + (intruder ? "_reduction_intruder" : "_reduction"),
                    rounded(reduction(nothing, gated_io(each, kJobs))));
    }
  }
  constexpr std::uint32_t kMany = 10;
  const std::vector<Column> waiting =
      run_columns(options, {Method::nothing, Method::lock, Method::gate, Method::ask_ahead, Method::drain},
                  seeds, storage, [](std::uint64_t seed) { return mix(kMany, seed, false); });
  add_rows(report, {{"load", "ten jobs"}}, waiting);
  const auto hours = [&](Method method) {
    return column(waiting, method).mean([](const RunResult& run) { return run.core_hours_waiting; });
  };
  report.figure("core_hours_waiting_lock", rounded(hours(Method::lock)));
  report.figure("core_hours_waiting_ask_ahead", rounded(hours(Method::ask_ahead)));
  report.figure("core_hours_waiting_drain", rounded(hours(Method::drain)));
  report.figure("core_hours_waiting_ratio", rounded(hours(Method::ask_ahead) / hours(Method::lock)), {},
                "<= 0.05");
  add_picture(report, "gate-beyond", column(waiting, Method::ask_ahead), mix(kMany, options.seed, false));
  add_picture(report, "gate-beyond", column(waiting, Method::drain), mix(kMany, options.seed, false));
  report.notes.push_back(
      "ask ahead: a job asks for the lock half an interval before a checkpoint is due, computes on, and "
      "writes when it has it, at "
      "most half an interval after it was due; then it waits. The last one may come early too: results are "
      "not checkpoints.");
  report.notes.push_back(
      "drain: saved on the node at 1 GB/s, written from there under the lock while the job computes; the end "
      "of the job waits for "
      "it.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::gate_beyond = {
    "gate-beyond", "lock and probe, the checkpoint as the probe, an intruder, waiting that costs nothing",
    run};

}  // namespace tutti
