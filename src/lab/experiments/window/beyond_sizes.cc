#include <fmt/format.h>

#include <algorithm>

#include "lab/experiments/window/beyond.h"
#include "lab/experiments/window/lab_policy.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

constexpr std::uint32_t kServers = 8;
constexpr std::uint32_t kApplications = 10;

using Build = Scenario (*)(const std::string& policy, std::uint64_t seed);

// Sizes from 1 to 32 MiB, all servers.
Scenario mixed_sizes(const std::string& policy, std::uint64_t seed) {
  Scenario scenario = make_testbed(Medium::hdd, kServers, policy, seed);
  Random random(mix64(seed + 11));
  for (std::uint32_t i = 0; i < kApplications; ++i) {
    ApplicationSpec spec;
    spec.processes = 4;
    spec.request = 256_KiB * (std::uint64_t{1} << random.below(6));
    spec.layout.stripe_size = 64_KiB;
    add_applications(scenario, spec, 1);
  }
  return scenario;
}

// Files on 1 to 8 servers, anywhere, of irregular sizes.
Scenario imbalanced(const std::string& policy, std::uint64_t seed) {
  Scenario scenario = make_testbed(Medium::hdd, kServers, policy, seed);
  Random random(mix64(seed + 23));
  for (std::uint32_t i = 0; i < kApplications; ++i) {
    ApplicationSpec spec;
    spec.processes = static_cast<std::uint32_t>(random.between(1, 6));
    spec.request = 64_KiB * random.between(4, 64);
    spec.layout.stripe_size = 64_KiB;
    spec.layout.stripe_count = static_cast<std::uint32_t>(random.between(1, kServers));
    spec.layout.first_server = static_cast<std::int32_t>(random.below(kServers));
    add_applications(scenario, spec, 1);
  }
  return scenario;
}

// Each application alone, for what it asks of each server.
Result<std::vector<std::vector<double>>> demands(Build build, std::uint64_t seed,
                                                 const ExperimentOptions& options) {
  std::vector<Scenario> alone;
  Scenario all = build(default_window(Medium::hdd), seed);
  settle(all);
  for (const ApplicationSpec& application : all.applications) {
    Scenario scenario = all;
    scenario.applications = {application};
    alone.push_back(std::move(scenario));
  }
  ExperimentOptions quiet = options;
  quiet.progress = nullptr;
  const auto results = run_all(alone, quiet);
  if (!results.ok()) return results.status();
  std::vector<std::vector<double>> work;
  for (const ScenarioResult& result : *results) {
    work.emplace_back();
    for (const ServerResult& server : result.servers) work.back().push_back(server.busy.seconds());
  }
  return work;
}

// The application ids of each seed in the best order.
Result<std::vector<std::vector<std::uint64_t>>> hindsight(Build build, std::size_t seeds,
                                                          const ExperimentOptions& options) {
  std::vector<std::vector<std::uint64_t>> orders;
  for (std::size_t i = 0; i < seeds; ++i) {
    const auto work = demands(build, options.seed + i, options);
    if (!work.ok()) return work.status();
    Scenario scenario = build(default_window(Medium::hdd), options.seed + i);
    settle(scenario);
    orders.emplace_back();
    for (const std::size_t application : best_order(*work)) {
      orders.back().push_back(scenario.applications[application].id);
    }
  }
  return orders;
}

struct Outcome {
  double plain, smallest, group, bound;
};

Result<Outcome> compare(const char* part, Build build, const ExperimentOptions& options, Report& report) {
  const std::size_t seeds = options.quick ? 2 : 8;
  const auto known = hindsight(build, seeds, options);
  if (!known.ok()) return known.status();
  Series series(options, seeds);
  const auto add = [&](const std::string& policy) {
    return series.add({{"part", part}, {"policy", policy}},
                      [&](std::uint64_t seed) { return build(policy, seed); });
  };
  const std::string window = default_window(Medium::hdd);
  add(fcfs_single());
  add(window);
  const std::size_t plain = add(window + ";order=rotated");
  add(window + ";order=id");
  add(window + ";order=smallest;load=burst");
  const std::size_t smallest = add(window + ";order=smallest;load=operations");
  std::vector<std::size_t> groups;
  for (const Nanos period : {1000_ms, 50_ms}) {
    groups.push_back(
        series.add({{"part", part}, {"policy", "group communication every " + to_string(period)}},
                   [&](std::uint64_t seed) {
                     Scenario scenario = build("group", seed);
                     const auto board = std::make_shared<BacklogBoard>(kServers);
                     scenario.cluster.policy_maker = [board, period](std::uint32_t server) {
                       return std::make_unique<GroupOrder>(board, server, period);
                     };
                     return scenario;
                   }));
  }
  const std::size_t best =
      series.add({{"part", part}, {"policy", "best order in hindsight"}}, [&](std::uint64_t seed) {
        Scenario scenario = build("hindsight", seed);
        const std::vector<std::uint64_t> order = (*known)[seed - options.seed];
        scenario.cluster.policy_maker = [order](std::uint32_t) {
          return std::make_unique<GivenOrder>(order);
        };
        return scenario;
      });
  TUTTI_TRY(series.run());
  for (Json& row : series.rows()) {
    row["over_bound"] = rounded(row["completion"].get<double>() / series.completion(best));
    report.rows.push_back(std::move(row));
  }
  return Outcome{series.completion(plain), series.completion(smallest), series.completion(groups[0]),
                 series.completion(best)};
}

}  // namespace

Status beyond_sizes(const ExperimentOptions& options, Report& report) {
  const auto outcome = compare("sizes", mixed_sizes, options, report);
  if (!outcome.ok()) return outcome.status();
  report.figure("smallest_first_reduction", rounded(reduction(outcome->plain, outcome->smallest)), {}, "> 0");
  report.figure("mean_over_bound", rounded(std::min({outcome->plain, outcome->smallest}) / outcome->bound));
  return {};
}

Status beyond_imbalance(const ExperimentOptions& options, Report& report) {
  const auto outcome = compare("imbalance", imbalanced, options, report);
  if (!outcome.ok()) return outcome.status();
  report.figure("imbalanced_reduction", rounded(reduction(outcome->plain, outcome->smallest)));
  report.figure("group_communication_reduction", rounded(reduction(outcome->plain, outcome->group)));
  report.notes.push_back(
      "imbalanced_reduction: smallest bottleneck first by the clients' tags against fair turns. Group "
      "communication "
      "is not adopted unless it beats that.");
  return {};
}

}  // namespace tutti
