// orchestra-alone: what orchestrated service costs a program that has the servers for itself. Ours, not the paper's.
//
// Nothing is fetched ahead, so that nothing is gained either: what is left are statistics, reports and announcements. The default
// beside it.
#include <algorithm>

#include "lab/experiments/orchestra/testbed.h"
#include "lab/report/numbers.h"

namespace tutti {
namespace {

using namespace orchestra;

Result<Report> run(const ExperimentOptions& options) {
  Points points(options, options.quick ? 1 : 3);
  struct Row {
    std::size_t base, orchestrated, by_default;
  };
  std::vector<Row> rows;
  RunSpec spec;
  spec.programs.resize(1);
  for (const bool write : {false, true}) {
    for (const Benchmark benchmark : kAllBenchmarks) {
      if (options.quick && benchmark != Benchmark::mpi_io_test) continue;
      RunSpec each = spec;
      each.programs[0].benchmark = benchmark;
      each.programs[0].write = write;
      const auto add = [&](const char* column, const std::string& policy) {
        each.policy = policy;
        return points.add_one({{"benchmark", benchmark_name(benchmark)},
                               {"access", write ? "write" : "read"},
                               {"column", column}},
                              each);
      };
      rows.push_back({add("fcfs 16", policy_of(kFcfs)),
                      add("orchestrated, nothing ahead", orchestra::orchestrated(";ahead=0")),
                      add("orchestrated", policy_of(kSliced))});
    }
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds(), spec);
  report.rows = points.rows();
  double worst = 1e9;
  double worst_default = 1e9;
  for (const Row& row : rows) {
    const double base = points.cell(row.base).rate();
    worst = std::min(worst, points.cell(row.orchestrated).rate() / base);
    worst_default = std::min(worst_default, points.cell(row.by_default).rate() / base);
  }
  report.figure("overhead", rounded(1 - worst), {}, "< 0.01");
  report.figure("overhead_default", rounded(1 - worst_default), {}, "< 0.01");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::orchestra_alone = {
    "orchestra-alone", "one program alone: what orchestrated service costs it", run};

}  // namespace tutti
