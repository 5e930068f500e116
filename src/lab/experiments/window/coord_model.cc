// coord-model: section 3.2. Constant service time, a random order on each server: formulas 1 and 2 against simulation.
#include <algorithm>
#include <cmath>

#include "lab/experiments/experiment.h"
#include "lab/experiments/window/series.h"
#include "policy/request/analysis.h"

namespace tutti {
namespace {

constexpr double kService = 2;  // seconds, long against all else

// A device that takes the same time for every request, one by one. The first application holds all servers until the
// requests of the others have come, in random order.
Scenario make_model(std::uint32_t applications, std::uint32_t servers, const std::string& policy,
                    std::uint64_t seed) {
  Scenario scenario = make_testbed(Medium::ssd, servers, policy, seed);
  SimStorageOptions& storage = scenario.cluster.storage;
  storage.store.cache.size = 0_B;
  storage.ssd.channels = 1;
  storage.ssd.read_latency = Nanos();
  storage.ssd.channel_overhead = Nanos::from_seconds(kService);
  scenario.cluster.fabric.wake_jitter = 20_ms;
  ApplicationSpec spec;
  spec.request = 4_KiB * servers;
  spec.layout.stripe_size = 4_KiB;
  add_applications(scenario, spec, 1);
  spec.start = 1_s;
  add_applications(scenario, spec, applications);
  return scenario;
}

// Of all but the first, from the moment the servers are free, in service times.
double completion(const ScenarioResult& result) {
  std::vector<double> times;
  for (std::size_t i = 1; i < result.applications.size(); ++i) {
    times.push_back((result.applications[i].end - result.applications[0].end).seconds() / kService);
  }
  return mean(times);
}

struct Point {
  std::uint32_t applications;
  std::uint32_t servers;
  std::size_t first;  // of its series
  std::size_t runs;
};

Result<Report> run(const ExperimentOptions& options) {
  Series series(options, 1);
  std::vector<Point> points;
  for (const std::uint32_t applications : {2U, 4U, 8U, 16U, 32U}) {
    for (const std::uint32_t servers : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
      if (options.quick && (applications > 8 || servers > 8)) continue;
      // A mean over few applications varies more.
      const std::size_t runs = (options.quick ? 200 : 400) / applications;
      points.push_back({applications, servers, 0, runs});
      for (std::size_t i = 0; i < runs; ++i) {
        const std::uint64_t seed = options.seed * 1'000'000 + points.size() * 1'000 + i;
        const std::size_t number = series.add(Json::object(), [&](std::uint64_t) {
          return make_model(applications, servers, "fcfs;dispatch_depth=1", seed);
        });
        if (i == 0) points.back().first = number;
      }
      series.add(Json::object(), [&](std::uint64_t seed) {
        return make_model(applications, servers, letter(60000_ms), seed);
      });
    }
  }
  TUTTI_TRY(series.run());
  Report report;
  report.settings = "a device of constant service time, one request at a time; a random order on each server";
  double worst = 0;
  for (const Point& point : points) {
    std::vector<double> completions;
    for (std::size_t i = 0; i < point.runs; ++i)
      completions.push_back(completion(series[point.first + i].results.front()));
    const double without = mean(completions);
    const double with = completion(series[point.first + point.runs].results.front());
    const double formula = uncoordinated_completion(point.applications, point.servers);
    const double coordinated_formula = coordinated_completion(point.applications);
    const double error = std::max(std::abs(without / formula - 1), std::abs(with / coordinated_formula - 1));
    worst = std::max(worst, error);
    report.rows.push_back({{"applications", point.applications},
                           {"servers", point.servers},
                           {"runs", point.runs},
                           {"uncoordinated", rounded(without)},
                           {"formula_1", rounded(formula)},
                           {"coordinated", rounded(with)},
                           {"formula_2", rounded(coordinated_formula)},
                           {"error", rounded(error)}});
  }
  report.figure("worst_error", rounded(worst), {}, "<= 0.03");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::coord_model = {
    "coord-model", "the formulas of completion time against simulation", run};

}  // namespace tutti
