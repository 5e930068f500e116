// coord-beyond: what goes beyond the paper, each against its plain policy, and against the best order in hindsight.
#include <algorithm>

#include "lab/experiments/experiment.h"
#include "lab/experiments/window/beyond.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

Result<Report> run(const ExperimentOptions& options) {
  Report report;
  report.settings = testbed_settings(options.quick ? 2 : 8);
  TUTTI_TRY(beyond_clocks(options, report));
  TUTTI_TRY(beyond_turns(options, report));
  TUTTI_TRY(beyond_sizes(options, report));
  TUTTI_TRY(beyond_imbalance(options, report));
  TUTTI_TRY(beyond_sweeps(options, report));
  report.notes.push_back("The adaptive interval is compared in coord-window.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::coord_beyond = {
    "coord-beyond", "what goes beyond the paper: turns, sizes, imbalance, clocks, and the bound", run};

}  // namespace tutti
