#include "lab/experiments/window/testbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "policy/request/window.h"

namespace tutti {
namespace {

constexpr Nanos kWakeJitter = 500_us;
constexpr Nanos kStartJitter = 200_us;
constexpr std::uint64_t kPaperIds = 32768;

Status check(const ScenarioResult& result) {
  for (const ApplicationResult& application : result.applications) {
    if (application.failed > 0) {
      return {Code::internal,
              fmt::format("a request of {} failed: {}", application.name, application.first_error)};
    }
  }
  return {};
}

}  // namespace

std::string_view medium_name(Medium medium) { return medium == Medium::hdd ? "hdd" : "ssd"; }

std::string fcfs_deep() { return "fcfs;dispatch_depth=16"; }

std::string fcfs_single() { return "fcfs;dispatch_depth=1"; }

std::string letter(Medium medium) { return letter(medium == Medium::hdd ? 1000_ms : 250_ms); }

std::string letter(Nanos interval) {
  return fmt::format("window;interval={}{}", interval.millis(), kPaperWindow);
}

std::string default_window(Medium medium) { return for_device("window", medium == Medium::hdd); }

std::string default_auto(Medium medium) { return for_device("auto", medium == Medium::hdd); }

std::string_view places_name(const FilePlaces& places) {
  if (places.adjacent) return places.alike ? "adjacent" : "adjacent, not alike";
  return places.alike ? "scattered" : "scattered, not alike";
}

Scenario make_testbed(Medium medium, std::uint32_t servers, const std::string& policy, std::uint64_t seed) {
  Scenario scenario;
  SimClusterOptions& cluster = scenario.cluster;
  cluster.seed = seed;
  cluster.servers = servers;
  cluster.policy = policy;
  cluster.nic = medium == Medium::hdd ? NicModel::gigabit_ethernet() : NicModel::infiniband_4x_ddr();
  cluster.fabric.wake_jitter = kWakeJitter;
  cluster.storage.device = medium == Medium::hdd ? SimDevice::hdd : SimDevice::ssd;
  cluster.storage.phantom = true;
  cluster.storage.store.cache.background_ratio = 0;
  cluster.storage.store.cache.dirty_ratio = 0;
  return scenario;
}

void use_infiniband(Scenario& scenario) { scenario.cluster.nic = NicModel::infiniband_4x_ddr(); }

void place_files(Scenario& scenario, const FilePlaces& places) {
  scenario.cluster.storage.store.placement.adjacent = places.adjacent;
  scenario.cluster.placed_alike = places.alike;
}

void add_applications(Scenario& scenario, const ApplicationSpec& like, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    scenario.applications.push_back(like);
    scenario.applications.back().name = fmt::format("app{}", scenario.applications.size());
  }
}

void settle(Scenario& scenario) {
  Random random(mix64(scenario.cluster.seed));
  const Nanos start = Nanos(static_cast<std::int64_t>(random.below(1'000'000'000)));
  std::uint32_t processes = 0;
  std::vector<std::uint64_t> taken;
  for (ApplicationSpec& application : scenario.applications) {
    do {
      application.id = random.between(1, kPaperIds - 1);
    } while (std::find(taken.begin(), taken.end(), application.id) != taken.end());
    taken.push_back(application.id);
    application.start += start;
    application.start_jitter = kStartJitter;
    processes += application.processes;
  }
  scenario.cluster.client_nodes = processes;
}

std::string testbed_settings(std::uint64_t seeds) {
  return fmt::format(
      "HDD with Gigabit Ethernet, SSD with InfiniBand 4x DDR; cold caches, writes through to the medium; a "
      "message waits 0 to "
      "{} for its process, processes start within {}; random application ids; {} seeds",
      to_string(kWakeJitter), to_string(kStartJitter), seeds);
}

Result<std::vector<ScenarioResult>> run_all(const std::vector<Scenario>& scenarios,
                                            const ExperimentOptions& options) {
  std::vector<std::optional<Result<ScenarioResult>>> outcomes(scenarios.size());
  std::atomic<std::size_t> next{0};
  std::size_t done = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < scenarios.size(); i = next++) {
      auto result = run_scenario(scenarios[i]);
      const std::lock_guard lock(mutex);
      outcomes[i] = std::move(result);
      if (options.progress) options.progress(++done, scenarios.size());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<ScenarioResult> results;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    auto& outcome = outcomes[i];
    if (!outcome->ok()) return outcome->status().with_context(scenarios[i].name);
    TUTTI_TRY(check(**outcome));
    results.push_back(std::move(**outcome));
  }
  return results;
}

double completion(const ApplicationResult& application) {
  return (application.end - application.start).seconds();
}

double mean_completion(const ScenarioResult& result) {
  std::vector<double> values;
  for (const ApplicationResult& application : result.applications) values.push_back(completion(application));
  return mean(values);
}

double spread(const ScenarioResult& result) {
  double earliest = 0;
  double latest = 0;
  for (const ApplicationResult& application : result.applications) {
    Nanos first = Nanos::max();
    Nanos last;
    for (const Nanos finish : application.server_finish) {
      if (finish < Nanos()) continue;
      first = std::min(first, finish);
      last = std::max(last, finish);
    }
    earliest += first.seconds();
    latest += last.seconds();
  }
  return latest / earliest;
}

double spread_of_each(const ScenarioResult& result) {
  std::vector<double> ratios;
  for (const ApplicationResult& application : result.applications) {
    const auto [first, last] =
        std::minmax_element(application.server_finish.begin(), application.server_finish.end());
    if (first != application.server_finish.end() && *first > Nanos()) {
      ratios.push_back(last->seconds() / first->seconds());
    }
  }
  return mean(ratios);
}

double p99(const std::vector<const ScenarioResult*>& results) {
  std::vector<Nanos> times;
  for (const ScenarioResult* result : results) {
    for (const ApplicationResult& application : result->applications) {
      times.insert(times.end(), application.times.begin(), application.times.end());
    }
  }
  if (times.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>((times.size() - 1) * 99 / 100);
  std::nth_element(times.begin(), times.begin() + at, times.end());
  return times[static_cast<std::size_t>(at)].seconds();
}

double fairness(const ScenarioResult& result) {
  std::vector<double> times;
  for (const ApplicationResult& application : result.applications) times.push_back(completion(application));
  return jain(times);
}

double bandwidth(const ScenarioResult& result) {
  Nanos first = Nanos::max();
  Nanos last;
  Bytes bytes;
  for (const ApplicationResult& application : result.applications) {
    first = std::min(first, application.start);
    last = std::max(last, application.end);
    bytes += application.bytes;
  }
  return static_cast<double>(bytes.count()) / (last - first).seconds();
}

double jain(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1;
}

}  // namespace tutti
