// orchestra-free: figure 6. Two instances of each benchmark, without barriers.
#include "lab/experiments/orchestra/homogeneous.h"
#include "lab/report/numbers.h"

namespace tutti {
namespace {

using namespace orchestra;

Result<Report> run(const ExperimentOptions& options) {
  Homogeneous runs(options, {.barrier = false, .collective = false, .streams = false});
  TUTTI_TRY(runs.run());
  Report report = runs.report();
  report.figure("mpiio_read_gain", rounded(runs.gain(Benchmark::mpi_io_test, false)), 0.72, "0.55 to 0.90");
  if (options.quick) return report;
  report.figure("mpiio_write_gain", rounded(runs.gain(Benchmark::mpi_io_test, true)), 0.36);
  report.figure("gain_mean", rounded(runs.mean_gain()));
  return report;
}

}  // namespace

constinit const Experiment known_experiments::orchestra_free = {
    "orchestra-free", "the same without barriers and collective calls", run};

}  // namespace tutti
