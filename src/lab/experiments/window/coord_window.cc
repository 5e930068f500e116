// coord-window: figure 8. Ten applications of four kinds in closed loops, by the length of the window.
#include <algorithm>

#include "lab/experiments/experiment.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

constexpr std::uint32_t kServers = 16;

// 3 IOR, 3 PIO-Bench, 2 MPI-TILE-IO, 2 Noncontig: contiguous blocks, strided, tiles, interleaved pieces.
void add_mix(Scenario& scenario, std::uint32_t processes, std::uint64_t requests) {
  ApplicationSpec ior;
  ior.processes = processes;
  ior.request = 128_KiB;
  ior.requests = requests;
  ior.layout.stripe_size = 4_KiB;
  add_applications(scenario, ior, 3);
  ApplicationSpec pio = ior;
  pio.pattern = AccessPattern::strided;
  add_applications(scenario, pio, 3);
  ApplicationSpec tile = ior;
  tile.pattern = AccessPattern::tiles;
  tile.piece = 16_KiB;
  tile.columns = 4;
  add_applications(scenario, tile, 2);
  ApplicationSpec noncontiguous = ior;
  noncontiguous.pattern = AccessPattern::tiles;
  noncontiguous.piece = 4_KiB;
  add_applications(scenario, noncontiguous, 2);
}

struct Case {
  Medium medium;
  std::uint32_t processes;
  std::size_t without;
  std::vector<std::size_t> fixed;  // by interval
  std::size_t adaptive;
};

std::size_t add(Series& series, Medium medium, std::uint32_t processes, std::uint64_t requests,
                const std::string& policy) {
  const Json parameters = {
      {"medium", medium_name(medium)}, {"processes", processes}, {"requests", requests}, {"policy", policy}};
  return series.add(parameters, [=](std::uint64_t seed) {
    Scenario scenario = make_testbed(medium, kServers, policy, seed);
    add_mix(scenario, processes, requests);
    return scenario;
  });
}

// Long synchronous checkpoints: rounds that take longer than a small window, which splits them.
Scenario checkpoints(const std::string& policy, std::uint64_t seed) {
  Scenario scenario = make_testbed(Medium::hdd, kServers, policy, seed);
  ApplicationSpec spec;
  spec.processes = 8;
  spec.request = 4_MiB;
  spec.requests = 4;
  spec.write = true;
  spec.barrier = true;
  add_applications(scenario, spec, 4);
  return scenario;
}

// Equal closed loops: a large window lets low ids go on while high ones wait.
Scenario equals(const std::string& policy, std::uint64_t seed) {
  Scenario scenario = make_testbed(Medium::hdd, kServers, policy, seed);
  ApplicationSpec spec;
  spec.processes = 4;
  spec.request = 128_KiB;
  spec.requests = 24;
  spec.layout.stripe_size = 4_KiB;
  add_applications(scenario, spec, 10);
  return scenario;
}

double jain_of_completions(const Sample& sample) {
  std::vector<double> index;
  for (const ScenarioResult& result : sample.results) {
    std::vector<double> times;
    for (const ApplicationResult& application : result.applications) times.push_back(completion(application));
    index.push_back(jain(times));
  }
  return mean(index);
}

// What a later author holds against the scheme, by window.
Status add_objections(const ExperimentOptions& options, Report& report) {
  Series series(options, options.quick ? 1 : 3);
  std::vector<std::string> policies = {uncoordinated()};
  for (const int interval : {250, 500, 1000, 2000})
    policies.push_back(coordinated(Nanos(interval * 1'000'000LL)));
  policies.push_back(coordinated(Medium::hdd) + ";adaptive=true");
  policies.push_back(coordinated(2000_ms) + ";order=rotated");
  std::vector<std::size_t> split;
  std::vector<std::size_t> equal;
  for (const std::string& policy : policies) {
    split.push_back(series.add({{"workload", "long checkpoints"}, {"policy", policy}},
                               [&](std::uint64_t seed) { return checkpoints(policy, seed); }));
  }
  for (const std::string& policy : policies) {
    equal.push_back(series.add({{"workload", "equal closed loops"}, {"policy", policy}},
                               [&](std::uint64_t seed) { return equals(policy, seed); }));
  }
  TUTTI_TRY(series.run());
  Json rows = series.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i]["jain"] = rounded(jain_of_completions(series[i]));
    report.rows.push_back(rows[i]);
  }
  report.figure("checkpoint_250_over_2000",
                rounded(series.completion(split[1]) / series.completion(split[4])));
  report.figure("jain_250", rounded(jain_of_completions(series[equal[1]])));
  report.figure("jain_2000", rounded(jain_of_completions(series[equal[4]])));
  return {};
}

Result<Report> run(const ExperimentOptions& options) {
  const std::vector<int> intervals = {250, 500, 1000, 2000};
  Series series(options, options.quick ? 1 : 12);
  std::vector<Case> cases;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    const std::uint64_t requests = medium == Medium::hdd ? 8 : 32;
    for (const std::uint32_t processes : {8U, 16U, 32U}) {
      if (options.quick && processes > 8) continue;
      Case each{medium, processes, add(series, medium, processes, requests, uncoordinated()), {}, 0};
      for (const int interval : intervals) {
        each.fixed.push_back(
            add(series, medium, processes, requests, coordinated(Nanos(interval * 1'000'000LL))));
      }
      each.adaptive = add(series, medium, processes, requests, coordinated(medium) + ";adaptive=true");
      cases.push_back(each);
    }
  }
  TUTTI_TRY(series.run());
  Report report;
  report.settings = testbed_settings(series.seeds());
  report.rows = series.rows();
  std::vector<double> worst = {1e9, 1e9};
  double at_32 = 0;
  double adaptive = 0;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    std::vector<double> sums(intervals.size());
    for (const Case& each : cases) {
      if (each.medium != medium) continue;
      double best = 1e9;
      for (std::size_t i = 0; i < intervals.size(); ++i) {
        const double ratio = series.bandwidth(each.fixed[i]) / series.bandwidth(each.without);
        double& least = worst[medium == Medium::hdd ? 0 : 1];
        least = std::min(least, ratio);
        if (medium == Medium::hdd && each.processes == 32 && intervals[i] == 1000) at_32 = ratio;
        sums[i] += series.completion(each.fixed[i]) / series.completion(each.without);
        best = std::min(best, series.completion(each.fixed[i]));
      }
      adaptive = std::max(adaptive, series.completion(each.adaptive) / best);
    }
    const auto best = std::min_element(sums.begin(), sums.end()) - sums.begin();
    const bool hdd = medium == Medium::hdd;
    report.figure(std::string(medium_name(medium)) + "_best_interval_ms",
                  intervals[static_cast<std::size_t>(best)], hdd ? 1000 : 250);
  }
  report.figure("bandwidth_worst_ratio", rounded(worst[0]), 0.988, ">= 0.988");
  report.figure("bandwidth_ratio_hdd_32", rounded(at_32), 1.109, ">= 1.109");
  report.figure("bandwidth_worst_ratio_ssd", rounded(worst[1]), 1.0, ">= 1.0");
  report.figure("adaptive_worst_ratio", rounded(adaptive), {}, "<= 1.05");
  TUTTI_TRY(add_objections(options, report));
  return report;
}

}  // namespace

constinit const Experiment known_experiments::coord_window = {
    "coord-window", "completion time and bandwidth by length of the window", run};

}  // namespace tutti
