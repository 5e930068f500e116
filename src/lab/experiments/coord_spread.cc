// coord-spread: figures 3 and 5. One request of each application reaches all servers; how far apart do they finish?
#include "lab/experiments/coordination.h"
#include "lab/experiments/testbed.h"

namespace tutti {
namespace {

struct Point {
  Medium medium;
  std::string policy;
};

ApplicationSpec reader() {
  ApplicationSpec spec;
  spec.request = 4_MiB;
  spec.layout.stripe_size = 64_KiB;
  return spec;
}

struct Outcome {
  std::vector<double> completions;  // mean of a seed
  std::vector<double> spreads;
};

Outcome outcome(const std::vector<ScenarioResult>& results, std::size_t first, std::size_t count) {
  Outcome sum;
  for (std::size_t i = first; i < first + count; ++i) {
    sum.completions.push_back(mean_completion(results[i]));
    sum.spreads.push_back(mean_spread(results[i]));
  }
  return sum;
}

Json row(const Point& point, const Outcome& outcome) {
  return {{"medium", medium_name(point.medium)},
          {"policy", point.policy},
          {"applications", 10},
          {"servers", 8},
          {"completion", rounded(mean(outcome.completions))},
          {"completion_deviation", rounded(deviation(outcome.completions))},
          {"spread", rounded(mean(outcome.spreads))},
          {"spread_deviation", rounded(deviation(outcome.spreads))}};
}

}  // namespace

Result<Report> coord_spread(const ExperimentOptions& options) {
  const std::size_t seeds = options.quick ? 3 : 20;
  std::vector<Point> points;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    std::vector<std::string> policies = {uncoordinated(), coordinated(medium), "fcfs;dispatch_depth=1"};
    for (const int depth : {1, 2, 4, 8, 16}) policies.push_back(coordinated(medium) + ";dispatch_depth=" + std::to_string(depth));
    policies.push_back(coordinated(medium) + ";quantum=max");
    for (const std::string& policy : policies) {
      points.push_back({medium, policy});
    }
  }
  std::vector<Scenario> scenarios;
  for (const Point& point : points) {
    for (std::size_t i = 0; i < seeds; ++i) {
      Scenario scenario = make_testbed(point.medium, 8, point.policy, options.seed + i);
      add_applications(scenario, reader(), 10);
      settle(scenario);
      scenarios.push_back(std::move(scenario));
    }
  }
  const auto results = run_all(scenarios, options);
  if (!results.ok()) return results.status();

  Report report;
  report.settings = testbed_settings(seeds);
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    outcomes.push_back(outcome(*results, i * seeds, seeds));
    report.rows.push_back(row(points[i], outcomes.back()));
  }
  const std::size_t per_medium = points.size() / 2;
  const auto saved = [&](std::size_t at) {
    return rounded(reduction(mean(outcomes[at].completions), mean(outcomes[at + 1].completions)));
  };
  const auto spread = [&](std::size_t at) { return rounded(mean(outcomes[at].spreads)); };
  report.figure("hdd_reduction", saved(0), 0.298, ">= 0.298");
  report.figure("ssd_reduction", saved(per_medium), 0.195, ">= 0.195");
  report.figure("hdd_spread_fcfs", spread(0), 4.4, ">= 3");
  report.figure("hdd_spread_window", spread(1), 1.3, "<= 1.3");
  report.figure("ssd_spread_fcfs", spread(per_medium), 3.1, ">= 2");
  report.figure("ssd_spread_window", spread(per_medium + 1), 1.2, "<= 1.2");
  return report;
}

}  // namespace tutti
