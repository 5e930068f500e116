// resonant-ior: figure 8. Each of four processes has a quarter of the file; a segment of each in a call. The pattern meets the
// rule of timing, the paper's text says agents: both are run.
#include <algorithm>

#include "lab/experiments/resonant/sweep.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace resonance;

Result<Report> run(const ExperimentOptions& options) {
  const Bytes file = options.quick ? 32_MiB : 64_MiB;
  Points points(options, options.quick ? 1 : 3);
  Sweep sweep(points);
  struct Both {
    Pair timing;
    std::size_t agents;
  };
  std::vector<Both> small;
  Way agents = letter_resonant();
  agents.plan += ";timing=never";
  for (const bool write : {false, true}) {
    for (Bytes segment = 16_KiB; segment <= 1_MiB; segment = segment * 2) {
      if (options.quick && segment != 32_KiB) continue;
      Load load = ior(segment, file);
      load.write = write;
      const Json parameters = {{"segment", to_string(segment)}, {"operation", write ? "write" : "read"}};
      sweep.add({{"segment", to_string(segment)}}, load, bed_for(file));
      if (write) continue;
      const Pair timing{points.add(parameters, bed_for(file), letter_two_phase(), load), 0};
      small.push_back({timing, points.add(parameters, bed_for(file), agents, load)});
    }
  }
  TUTTI_TRY(points.run());
  double best = -1;
  for (const Both& both : small)
    best = std::max(best, points.rate(both.agents) / points.rate(both.timing.without) - 1);
  Report report;
  report.settings = settings(points.seeds());
  report.rows = points.rows();
  report.figure("read_gain_max_timing", rounded(sweep.largest_gain(false)));
  report.figure("read_gain_max_agents", rounded(best));
  report.figure("forced_worst_ratio", rounded(sweep.worst_ratio()), {}, ">= 0.95");
  report.figure("letter_worst_ratio", rounded(sweep.worst_letter()));
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_ior = {
    "resonant-ior", "a quarter of the file for each rank, by segment size", run};

}  // namespace tutti
