// resonant-noncontig: figure 9. Four processes read or write a column each, 16 MB in all in a call.
#include "lab/experiments/resonant/sweep.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace resonance;

Result<Report> run(const ExperimentOptions& options) {
  const Bytes file = options.quick ? 64_MiB : kShortFile;
  Points points(options, options.quick ? 1 : 3);
  Sweep sweep(points);
  Sweep synced(points);
  for (const bool write : {false, true}) {
    for (std::uint64_t elements = 4096; elements <= 131072; elements *= 2) {
      if (options.quick && elements != 16384) continue;
      Load load = noncontig(Bytes(elements * 4), file);
      load.write = write;
      sweep.add({{"elmtcount", elements}}, load, bed_for(file));
      if (!write || elements != 16384) continue;
      load.sync = true;
      synced.add({{"elmtcount", elements}}, load, bed_for(file));
    }
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds());
  report.rows = points.rows();
  report.figure("read_gain_max", rounded(sweep.largest_gain(false)), 1.57, "in 1.2..1.9");
  report.figure("read_peak", rounded(sweep.best_rate(false)), 101);
  report.figure("write_gain_max", rounded(sweep.largest_gain(true)), 0.97, "in 0.7..1.25");
  report.figure("write_peak", rounded(sweep.best_rate(true)), 96);
  report.figure("write_gain_synced", rounded(synced.largest_gain(true)));
  report.figure("forced_worst_ratio", rounded(sweep.worst_ratio()), {}, ">= 0.95");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_noncontig = {
    "resonant-noncontig", "columns of an array, by their width", run};

}  // namespace tutti
