#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lab/experiments/window/beyond.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

constexpr std::uint32_t kServers = 8;

// Applications that come one window after the other, faster than they are served.
Scenario queue_of_windows(std::uint64_t seed, bool skewed) {
  Scenario scenario = make_testbed(Medium::hdd, kServers, default_window(Medium::hdd), seed);
  ApplicationSpec spec;
  spec.processes = 4;
  spec.request = 64_MiB;
  constexpr std::uint32_t kApplications = 6;
  for (std::uint32_t i = 0; i < kApplications; ++i) {
    spec.start = 1_s * i;
    add_applications(scenario, spec, 1);
  }
  if (!skewed) return scenario;
  Random random(mix64(seed + 77));
  scenario.cluster.skew.assign(1 + kServers, Nanos());
  for (std::uint32_t i = 0; i < kApplications * spec.processes; ++i) {
    scenario.cluster.skew.push_back(
        Nanos(static_cast<std::int64_t>(random.between(0, 10'000'000'000)) - 5'000'000'000));
  }
  return scenario;
}

std::vector<std::size_t> order_of_ends(const ScenarioResult& result) {
  std::vector<std::size_t> order(result.applications.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return result.applications[a].end < result.applications[b].end;
  });
  return order;
}

}  // namespace

Status beyond_clocks(const ExperimentOptions& options, Report& report) {
  Series series(options, options.quick ? 2 : 4);
  const Json parameters = {{"part", "clocks"}, {"policy", default_window(Medium::hdd)}};
  Json exact = parameters;
  exact["skew"] = "none";
  Json skewed = parameters;
  skewed["skew"] = "up to 5 s";
  const std::size_t without =
      series.add(exact, [](std::uint64_t seed) { return queue_of_windows(seed, false); });
  const std::size_t with =
      series.add(skewed, [](std::uint64_t seed) { return queue_of_windows(seed, true); });
  TUTTI_TRY(series.run());
  bool kept = true;
  for (std::size_t i = 0; i < series.seeds(); ++i) {
    kept = kept && order_of_ends(series[without].results[i]) == order_of_ends(series[with].results[i]);
  }
  for (Json& row : series.rows()) report.rows.push_back(std::move(row));
  report.figure("skew_order_kept", kept, {}, "== true");
  return {};
}

Status beyond_turns(const ExperimentOptions& options, Report& report) {
  Series series(options, options.quick ? 2 : 4);
  std::vector<std::size_t> points;
  for (const char* order : {"id", "rotated"}) {
    // One order a window, so that a short run sees many.
    const std::string policy = letter(Medium::hdd) + ";period=1000;order=" + order;
    points.push_back(series.add({{"part", "turns"}, {"policy", policy}}, [&](std::uint64_t seed) {
      Scenario scenario = make_testbed(Medium::hdd, kServers, policy, seed);
      ApplicationSpec spec;  // as fast as they are served: some rounds in each window
      spec.request = 4_MiB;
      spec.requests = options.quick ? 20 : 80;
      add_applications(scenario, spec, 10);
      return scenario;
    }));
  }
  TUTTI_TRY(series.run());
  std::vector<double> fairness;
  for (const std::size_t point : points) {
    std::vector<double> index;
    std::vector<double> worst;
    for (const ScenarioResult& result : series[point].results) {
      std::vector<double> times;
      for (const ApplicationResult& application : result.applications) {
        std::vector<double> each;
        for (const Nanos time : application.times) each.push_back(time.seconds());
        times.push_back(mean(each));
      }
      index.push_back(jain(times));
      worst.push_back(*std::max_element(times.begin(), times.end()) / mean(times));
    }
    fairness.push_back(mean(index));
    Json row = series[point].parameters;
    row["jain"] = rounded(mean(index));
    row["worst_over_mean"] = rounded(mean(worst));
    report.rows.push_back(std::move(row));
  }
  report.figure("jain_plain", rounded(fairness[0]));
  report.figure("jain_rotated", rounded(fairness[1]), {}, ">= 0.95");
  return {};
}

}  // namespace tutti
