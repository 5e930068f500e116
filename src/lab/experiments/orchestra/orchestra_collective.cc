// orchestra-collective: figure 5. Two instances of each benchmark, with barriers and collective calls.
#include "lab/experiments/orchestra/homogeneous.h"
#include "lab/report/numbers.h"

namespace tutti {
namespace {

using namespace orchestra;

Result<Report> run(const ExperimentOptions& options) {
  Homogeneous runs(options, {.barrier = true, .collective = true, .streams = false});
  TUTTI_TRY(runs.run());
  Report report = runs.report();
  report.figure("mpiio_read_gain", rounded(runs.gain(Benchmark::mpi_io_test, false)), 0.63, "0.48 to 0.78");
  if (options.quick) return report;
  report.figure("mpiio_write_gain", rounded(runs.gain(Benchmark::mpi_io_test, true)), 0.15);
  report.figure("gain_mean", rounded(runs.mean_gain()), 0.28, "0.16 to 0.40");
  report.figure("gain_max", rounded(runs.largest_gain()), 0.63);
  return report;
}

}  // namespace

constinit const Experiment known_experiments::orchestra_collective = {"orchestra-collective",
                                                                      "the same with collective calls", run};

}  // namespace tutti
