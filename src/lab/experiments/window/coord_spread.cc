// coord-spread: figures 3 and 5. One request of each application reaches all servers; how far apart do they finish?
#include "lab/experiments/experiment.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

std::size_t add(Series& series, Medium medium, const std::string& policy) {
  const Json parameters = {
      {"medium", medium_name(medium)}, {"policy", policy}, {"applications", 10}, {"servers", 8}};
  return series.add(parameters, [=](std::uint64_t seed) {
    Scenario scenario = make_testbed(medium, 8, policy, seed);
    ApplicationSpec spec;
    spec.request = 4_MiB;
    spec.layout.stripe_size = 64_KiB;
    add_applications(scenario, spec, 10);
    return scenario;
  });
}

Result<Report> run(const ExperimentOptions& options) {
  Series series(options, options.quick ? 3 : 20);
  std::size_t points[2][2];
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    const std::size_t at = medium == Medium::hdd ? 0 : 1;
    points[at][0] = add(series, medium, uncoordinated());
    points[at][1] = add(series, medium, coordinated(medium));
    if (options.quick) continue;
    // For comparison: as many requests in service as PVFS2 allows by default, and more than one in the window's order.
    add(series, medium, "fcfs;dispatch_depth=16");
    for (const char* depth : {"2", "4", "16"}) {
      add(series, medium, coordinated(medium) + ";dispatch_depth=" + depth);
    }
  }
  TUTTI_TRY(series.run());
  Report report;
  report.settings = testbed_settings(series.seeds());
  report.rows = series.rows();
  const auto saved = [&](std::size_t at) { return rounded(series.reduction(points[at][0], points[at][1])); };
  const auto spread = [&](std::size_t at, std::size_t which) {
    return rounded(mean(series[points[at][which]].spread));
  };
  report.figure("hdd_reduction", saved(0), 0.298, ">= 0.298");
  report.figure("ssd_reduction", saved(1), 0.195, ">= 0.195");
  report.figure("hdd_spread_fcfs", spread(0, 0), 4.4, ">= 3");
  report.figure("hdd_spread_window", spread(0, 1), 1.3, "<= 1.3");
  report.figure("ssd_spread_fcfs", spread(1, 0), 3.1, ">= 2");
  report.figure("ssd_spread_window", spread(1, 1), 1.2, "<= 1.2");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::coord_spread = {
    "coord-spread", "ten applications, one request each: how far apart the servers finish", run};

}  // namespace tutti
