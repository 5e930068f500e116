// gate-mixed: figures 4.4 to 4.6. The four jobs of table 4.1.
#include <algorithm>

#include "lab/experiments/gate/testbed.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace gatelab;

std::vector<JobSpec> table_4_1(std::uint64_t seed) {
  Random random(seed * 104'729);
  struct Row {
    std::uint32_t checkpoints;
    std::uint64_t megabytes;
    Nanos compute;
  };
  std::vector<JobSpec> jobs;
  for (const Row& row :
       {Row{3, 1392, 140_s}, Row{5, 1312, 132_s}, Row{3, 1392, 140_s}, Row{3, 2192, 220_s}}) {
    JobSpec& job = jobs.emplace_back();
    job.name = "job " + std::to_string(jobs.size());
    job.checkpoints = row.checkpoints;
    job.checkpoint = Bytes(row.megabytes * 1'000'000);
    job.compute = row.compute;
    job.start = Nanos(static_cast<std::int64_t>(random.below(kStarts.count())));
  }
  return jobs;
}

Result<Report> run(const ExperimentOptions& options) {
  Report report;
  const StorageMaker storage = paper_storage();
  const std::size_t seeds = options.quick ? 3 : 20;
  report.settings = settings(seeds, backoff_options(storage));
  add_efficiency(report, storage);
  const std::vector<Column> columns = run_columns(options, usual_columns(), seeds, storage, table_4_1);
  add_rows(report, {{"load", "table 4.1"}}, columns);
  report.figure("lock_reduction", rounded(saving(columns, Method::lock)), 0.4883, "0.39 to 0.59");
  report.figure("backoff_reduction", rounded(saving(columns, Method::backoff)), 0.1688, "0.07 to 0.27");
  report.figure("stagger_reduction", rounded(saving(columns, Method::stagger)));
  report.figure("gate_reduction", rounded(saving(columns, Method::gate)));
  const Column& backoff = column(columns, Method::backoff);
  report.figure("probes",
                rounded(backoff.mean([](const RunResult& each) { return static_cast<double>(each.probes); })),
                21, "15 to 28");
  report.figure("probed_mb", rounded(backoff.mean([](const RunResult& each) {
                  return static_cast<double>(each.probed.count()) / 1e6;
                })),
                189);
  report.figure("io_nothing", rounded(column(columns, Method::nothing).io()), 275.50);
  report.figure("io_backoff", rounded(backoff.io()), 228.98);
  report.figure("io_lock", rounded(column(columns, Method::lock).io()), 140.96);
  for (const Method method : {Method::backoff, Method::lock}) {
    const std::vector<double> all = savings(columns, method);
    const std::string name(method_name(method));
    report.figure(name + "_least", rounded(*std::min_element(all.begin(), all.end())));
    report.figure(name + "_most", rounded(*std::max_element(all.begin(), all.end())));
  }
  for (const Method method : {Method::nothing, Method::backoff, Method::lock, Method::gate}) {
    add_picture(report, "gate-mixed", column(columns, method), table_4_1(options.seed));
  }
  return report;
}

}  // namespace

constinit const Experiment known_experiments::gate_mixed = {
    "gate-mixed", "four different jobs (table 4.1): nothing, backoff, lock", run};

}  // namespace tutti
