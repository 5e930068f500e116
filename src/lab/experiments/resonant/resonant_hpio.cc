// resonant-hpio: figure 10. One call for 4,096 regions of each process, 2 to 64 KiB.
#include "lab/experiments/resonant/sweep.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace resonance;

Result<Report> run(const ExperimentOptions& options) {
  Points points(options, options.quick ? 1 : 3);
  Sweep sweep(points);
  for (const bool write : {false, true}) {
    for (Bytes region = 2_KiB; region <= 64_KiB; region = region * 2) {
      if (options.quick && region != 4_KiB) continue;
      Load load = hpio(region, options.quick ? 512 : 4096);
      load.write = write;
      sweep.add({{"region", to_string(region)}}, load);
    }
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds());
  report.rows = points.rows();
  report.figure("read_peak", rounded(sweep.best_rate(false)));
  report.figure("read_gain_max", rounded(sweep.largest_gain(false)));
  report.figure("write_gain_max", rounded(sweep.largest_gain(true)));
  report.figure("forced_worst_ratio", rounded(sweep.worst_ratio()), {}, ">= 0.95");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_hpio = {
    "resonant-hpio", "one large call, by the size of its regions", run};

}  // namespace tutti
