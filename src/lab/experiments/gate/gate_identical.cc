// gate-identical: figures 4.1 to 4.3. Two jobs alike, started together.
#include <cmath>

#include "lab/experiments/gate/testbed.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace gatelab;

std::vector<JobSpec> two_alike(std::uint64_t seed) {
  Random random(seed * 7919);
  std::vector<JobSpec> jobs(2);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].name = "job " + std::to_string(i + 1);
    jobs[i].compute = 90_s;
    jobs[i].checkpoint = Bytes(1024'000'000);
    jobs[i].checkpoints = 3;
    jobs[i].start = Nanos(static_cast<std::int64_t>(random.below(kTogether.count())));
  }
  return jobs;
}

// What the lock saves of two jobs alike: six checkpoints that take 2 / eta each, against one that waits for another and five that do
// not: 1 + 2 + 4 of a checkpoint alone. One turn puts the jobs out of step for good.
double formula(double eta) { return 1 - 7 * eta / 12; }

Result<Report> run(const ExperimentOptions& options) {
  Report report;
  const StorageMaker storage = paper_storage();
  const std::size_t seeds = options.quick ? 3 : 20;
  report.settings = settings(seeds, backoff_options(storage));
  const double eta = add_efficiency(report, storage);
  const std::vector<Column> columns = run_columns(options, usual_columns(), seeds, storage, two_alike);
  add_rows(report, {{"load", "two alike"}}, columns);
  const double lock = saving(columns, Method::lock);
  report.figure("lock_reduction", rounded(lock), 0.7172, "0.68 to 0.75");
  report.figure("backoff_reduction", rounded(saving(columns, Method::backoff)), 0.4512, "0.38 to 0.64");
  report.figure("stagger_reduction", rounded(saving(columns, Method::stagger)), {},
                "0.57 to 0.71 of a bare queue");
  report.figure("gate_reduction", rounded(saving(columns, Method::gate)));
  report.figure("formula_error", rounded(std::abs(lock - formula(eta))), {}, "<= 0.02");
  const auto total = [&](Method method) {
    return rounded(column(columns, method).mean([](const RunResult& each) { return each.total_io(); }));
  };
  report.figure("io_nothing", total(Method::nothing), 325.95);
  report.figure("io_backoff", total(Method::backoff), 178.87);
  report.figure("io_lock", total(Method::lock), 92.16);
  report.figure(
      "backoff_overhead",
      rounded(column(columns, Method::backoff).mean([](const RunResult& each) { return each.ask_overhead; })),
      4.03);
  report.figure("ask_overhead_us",
                rounded(1e6 * column(columns, Method::lock).mean([](const RunResult& each) {
                  return each.ask_overhead;
                })),
                90.67);
  for (const Method method : {Method::nothing, Method::backoff, Method::lock, Method::gate}) {
    add_picture(report, "gate-identical", column(columns, method), two_alike(options.seed));
  }
  add_tutti(report, {{"load", "two alike, on Tutti"}},
            run_on_tutti(options, options.quick ? 2 : 5, two_alike));
  // The same jobs on storage of any eta.
  double worst = 0;
  for (const double each : {0.2, 0.3, 0.4, 0.485, 0.6, 0.7, 0.8, 0.9, 1.0}) {
    const StorageMaker curve = curve_storage(78e6, [each](std::size_t n) { return n <= 1 ? 1.0 : each; });
    const std::vector<Column> of_eta =
        run_columns(options, {Method::nothing, Method::stagger, Method::lock, Method::gate},
                    options.quick ? 2 : 10, curve, two_alike);
    const double saved = saving(of_eta, Method::lock);
    worst = std::max(worst, std::abs(saved - formula(each)));
    report.rows.push_back({{"eta_2", each},
                           {"paper", each == 0.485},
                           {"lock_reduction", rounded(saved)},
                           {"formula", rounded(formula(each))},
                           {"stagger_reduction", rounded(saving(of_eta, Method::stagger))},
                           {"gate_reduction", rounded(saving(of_eta, Method::gate))}});
  }
  report.figure("formula_error_of_curve", rounded(worst));
  report.notes.push_back(
      "I/O time is waiting, probing and writing; a checkpoint ends on the medium. formula: 1 - 7 eta_2 / 12; "
      "without interference "
      "(eta_2 = 1) the lock still saves 0.417, since one turn puts the jobs out of step.");
  report.notes.push_back(
      "misses: proceeded as quiet while another wrote; false alarms: backed off while nobody else wrote (but "
      "may have probed).");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::gate_identical = {
    "gate-identical", "two jobs alike that checkpoint at the same time: nothing, backoff, lock", run};

}  // namespace tutti
