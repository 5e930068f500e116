// orchestra-barrier: figure 2. Two instances of each benchmark, with a barrier between calls.
#include "lab/experiments/orchestra/homogeneous.h"
#include "lab/report/numbers.h"

namespace tutti {
namespace {

using namespace orchestra;

Result<Report> run(const ExperimentOptions& options) {
  Homogeneous runs(options, {.barrier = true, .collective = false, .streams = true});
  TUTTI_TRY(runs.run());
  Report report = runs.report();
  report.figure("mpiio_read_gain", rounded(runs.gain(Benchmark::mpi_io_test, false)), 0.57, "0.42 to 0.72");
  if (options.quick) return report;
  report.figure("mpiio_write_gain", rounded(runs.gain(Benchmark::mpi_io_test, true)), 0.37, "0.22 to 0.52");
  const double tile = (runs.gain(Benchmark::tile, false) + runs.gain(Benchmark::tile, true)) / 2;
  report.figure("tile_gain", rounded(tile), 0.13, "0.05 to 0.25");
  report.figure("gain_mean", rounded(runs.mean_gain()), 0.43, "0.30 to 0.56");
  report.figure("gain_mean_reads", rounded(runs.mean_gain_of(false)));
  report.figure("gain_mean_writes", rounded(runs.mean_gain_of(true)));
  report.figure("gain_max", rounded(runs.largest_gain()), 0.89);
  const auto& ior = runs.points().cell(runs.at(Benchmark::ior, false), kPaper);
  report.figure("ior_eligible", ior.eligible() > 0.1, 0, "false");
  report.figure("ior_ratio", rounded(1 + runs.gain(Benchmark::ior, false)), 1, ">= 0.97");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::orchestra_barrier = {
    "orchestra-barrier", "two instances of seven benchmarks with barriers: throughput with time slices", run};

}  // namespace tutti
