// resonant-collperf: figure 6. A cube of integers, distributed in blocks, written and read in one call each.
#include "lab/experiments/resonant/sweep.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace resonance;

Result<Report> run(const ExperimentOptions& options) {
  Points points(options, options.quick ? 1 : 3);
  Sweep sweep(points);
  for (const bool write : {false, true}) {
    for (std::uint64_t edge = 64; edge <= (options.quick ? 64U : 512U); edge *= 2) {
      Load load = coll_perf(edge);
      load.write = write;
      load.sync = write;  // MPI_File_close after a write of this size finds all of it in memory
      sweep.add({{"edge", edge}}, load);
    }
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds());
  report.rows = points.rows();
  report.figure("read_peak", rounded(sweep.best_rate(false)), 80);
  report.figure("read_gain_max", rounded(sweep.largest_gain(false)));
  report.figure("write_gain_max", rounded(sweep.largest_gain(true)));
  report.figure("forced_worst_ratio", rounded(sweep.worst_ratio()), {}, ">= 0.95");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_collperf = {
    "resonant-collperf", "a distributed cube in one call, by its size", run};

}  // namespace tutti
