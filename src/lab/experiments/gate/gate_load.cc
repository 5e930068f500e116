// gate-load: figures 4.7 to 4.9. Two, six and ten random jobs, three mixes.
#include "lab/experiments/gate/testbed.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace gatelab;

constexpr std::size_t kMixes = 3;

// The jobs of a mix are the same for all seeds; start times are the seed's.
std::vector<JobSpec> mix(std::uint32_t jobs, std::uint64_t seed) {
  MixRanges ranges;
  std::vector<JobSpec> all = random_mix(jobs, ranges, Random(1000 * jobs + seed % kMixes));
  Random random(seed * 15'485'863 + jobs);
  for (JobSpec& job : all) {
    job.start = Nanos(static_cast<std::int64_t>(random.below(kStarts.count())));
    job.wall_limit = 7200_s;
  }
  return all;
}

Result<Report> run(const ExperimentOptions& options) {
  Report report;
  const StorageMaker storage = paper_storage();
  const std::size_t seeds = options.quick ? 3 : 21;
  report.settings = settings(seeds, backoff_options(storage)) + "; three mixes, seeds in turn";
  add_efficiency(report, storage);
  for (const std::uint32_t jobs : {2U, 6U, 10U}) {
    const std::vector<Column> columns = run_columns(
        options, usual_columns(), seeds, storage, [jobs](std::uint64_t seed) { return mix(jobs, seed); },
        [jobs](RunOptions& each) { each.nodes = jobs; });
    add_rows(report, {{"jobs", jobs}}, columns);
    const std::string suffix = jobs == 10 ? "" : "_" + std::to_string(jobs);
    const bool ten = jobs == 10;
    report.figure("lock_reduction" + suffix, rounded(saving(columns, Method::lock)),
                  ten ? std::optional(0.8138) : std::nullopt, ten ? "0.73 to 0.89" : "");
    report.figure("backoff_reduction" + suffix, rounded(saving(columns, Method::backoff)),
                  ten ? std::optional(0.1922) : std::nullopt,
                  ten         ? "0.09 to 0.30"
                  : jobs == 2 ? "< 0"
                              : "");
    report.figure("stagger_reduction" + suffix, rounded(saving(columns, Method::stagger)));
    report.figure("gate_reduction" + suffix, rounded(saving(columns, Method::gate)));
    std::vector<double> deviations;
    for (const Method method : {Method::lock, Method::nothing, Method::backoff}) {
      const Column& of = column(columns, method);
      deviations.push_back(of.mean([](const RunResult& each) { return each.deviation(); }));
      const std::string name(method_name(method));
      report.figure("deviation_" + name + suffix, rounded(deviations.back()));
      report.figure("makespan_" + name + suffix,
                    rounded(of.mean([](const RunResult& each) { return each.makespan; })));
    }
    if (ten) {
      add_tutti(report, {{"jobs", jobs}, {"load", "on Tutti"}},
                run_on_tutti(options, options.quick ? 1 : 3,
                             [jobs](std::uint64_t seed) { return mix(jobs, seed); }));
      report.figure("deviations_in_order", deviations[0] < deviations[1] && deviations[1] < deviations[2], {},
                    "lock below nothing below backoff");
      for (const Method method : {Method::nothing, Method::backoff, Method::lock, Method::gate}) {
        add_picture(report, "gate-load", column(columns, method), mix(jobs, options.seed));
      }
    }
  }
  report.notes.push_back(
      "deviation: of a job's checkpoints (wait, probe and write) over their mean, mean over jobs.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::gate_load = {
    "gate-load", "two, six and ten random jobs: nothing, backoff, lock", run};

}  // namespace tutti
