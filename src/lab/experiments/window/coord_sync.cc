// coord-sync: figure 1. Synchronization within a request, of collective I/O, and between requests by barriers.
#include "lab/experiments/experiment.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

struct Kind {
  std::string name;
  ApplicationSpec spec;
};

std::vector<Kind> kinds() {
  ApplicationSpec within;  // one request of one process reaches all servers
  within.request = 4_MiB;
  within.layout.stripe_size = 64_KiB;
  ApplicationSpec collective =
      within;  // four aggregators read for all; the program goes on when all four have
  collective.processes = 4;
  collective.request = 1_MiB;
  collective.requests = 2;
  collective.barrier = true;
  ApplicationSpec between = within;  // independent requests, and a barrier behind each
  between.processes = 8;
  between.request = 128_KiB;
  between.requests = 4;
  between.barrier = true;
  between.layout.stripe_size = 4_KiB;
  return {{"within_request", within}, {"collective", collective}, {"between_requests", between}};
}

Result<Report> run(const ExperimentOptions& options) {
  Series series(options, options.quick ? 2 : 10);
  struct Pair {
    std::string name;
    std::size_t without;
    std::size_t with;
  };
  std::vector<Pair> pairs;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    for (const Kind& kind : kinds()) {
      const auto add = [&](const std::string& policy) {
        const Json parameters = {
            {"medium", medium_name(medium)}, {"synchronization", kind.name}, {"policy", policy}};
        return series.add(parameters, [&](std::uint64_t seed) {
          Scenario scenario = make_testbed(medium, 8, policy, seed);
          add_applications(scenario, kind.spec, 10);
          return scenario;
        });
      };
      const std::size_t without = add(fcfs_single());
      pairs.push_back(
          {std::string(medium_name(medium)) + "_" + kind.name + "_reduction", without, add(letter(medium))});
    }
  }
  TUTTI_TRY(series.run());
  Report report;
  report.settings = testbed_settings(series.seeds());
  report.rows = series.rows();
  for (const Pair& pair : pairs)
    report.figure(pair.name, rounded(series.reduction(pair.without, pair.with)), {}, "> 0");
  report.notes.push_back("10 applications, 8 servers; completion of one request or collective operation.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::coord_sync = {
    "coord-sync", "the three kinds of synchronization, with and without coordination", run};

}  // namespace tutti
