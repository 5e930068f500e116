// orchestra-mixed: figure 7. mpi-io-test, noncontig nc-nc and hpio nc-nc read at the same time.
#include <algorithm>

#include "lab/experiments/orchestra/testbed.h"
#include "lab/report/numbers.h"

namespace tutti {
namespace {

using namespace orchestra;

RunSpec mixed() {
  RunSpec spec;
  for (const Benchmark benchmark : {Benchmark::mpi_io_test, Benchmark::noncontig_nc, Benchmark::hpio_nc}) {
    spec.programs.emplace_back();
    spec.programs.back().benchmark = benchmark;
  }
  return spec;
}

double program_rate(const Points::Cell& cell, std::size_t program) {
  std::vector<double> rates;
  for (const RunOutcome& outcome : cell.outcomes) rates.push_back(outcome.programs[program].rate);
  return mean(rates);
}

Result<Report> run(const ExperimentOptions& options) {
  Points points(options, options.quick ? 1 : 10);
  const std::size_t all = points.add({{"programs", "mpi-io-test, noncontig nc-nc, hpio nc-nc"}}, mixed());
  RunSpec even = mixed();
  // Every program a third of each window, whatever its locality.
  even.policy = as_the_paper(";slices=even;deviation=1000;ratio=1;seek=100000");
  const std::size_t evenly = points.add_one({{"programs", "the same"}, {"column", "even slices"}}, even);
  TUTTI_TRY(points.run());

  Report report;
  report.settings = settings(points.seeds(), mixed());
  report.rows = points.rows();
  const auto& without = points.cell(all, kFcfs);
  const auto& with = points.cell(all, kPaper);
  const auto& by_default = points.cell(all, kSliced);
  const double even_rate = points.cell(evenly).rate();
  double worst = 1e9;
  double share = 0;
  Json programs = Json::array();
  for (std::size_t i = 0; i < 3; ++i) {
    const double ratio = program_rate(with, i) / program_rate(without, i);
    worst = std::min(worst, ratio);
    report.rows.push_back({{"program", benchmark_name(mixed().programs[i].benchmark)},
                           {"fcfs_mb", rounded(program_rate(without, i) / 1e6)},
                           {"even_mb", rounded(program_rate(points.cell(evenly), i) / 1e6)},
                           {"orchestrated_mb", rounded(program_rate(with, i) / 1e6)},
                           {"default_mb", rounded(program_rate(by_default, i) / 1e6)},
                           {"eligible", rounded(with.outcomes.front().programs[i].eligible)},
                           {"part", rounded(with.outcomes.front().programs[i].part)}});
  }
  for (const RunOutcome& outcome : with.outcomes)
    share += outcome.programs[0].part / static_cast<double>(with.outcomes.size());
  report.figure("even_gain", rounded(even_rate / without.rate() - 1), 0.17, "0.07 to 0.27");
  report.figure("gain_over_even", rounded(with.rate() / even_rate - 1), 0.30, "0.15 to 0.45");
  report.figure("mpiio_share", rounded(share), 0.5, "0.4 to 0.6");
  report.figure("worst_program_ratio", rounded(worst), {}, ">= 0.95");
  report.figure("never_loses_worst", rounded(points.never_loses()), {}, ">= 0.97");
  report.figure("busy_over_expected_farthest", rounded(points.first_principles()), {}, "0.9 to 1.1");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::orchestra_mixed = {
    "orchestra-mixed", "three different programs at once: even slices, and slices for those with locality",
    run};

}  // namespace tutti
