#include "cli/bench/bench_sim.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/command.h"
#include "env/real/loop/loop.h"
#include "lab/scenario/scenario.h"

namespace tutti {
namespace {

Scenario make_scenario(const SimBenchOptions& options) {
  Scenario scenario;
  scenario.name = "bench sim";
  scenario.cluster.seed = options.seed;
  scenario.cluster.servers = options.servers;
  scenario.cluster.client_nodes = options.clients;
  scenario.cluster.storage.phantom = true;
  scenario.cluster.storage.bare = true;
  ApplicationSpec application;
  application.name = "readers";
  application.id = 1;
  application.processes = options.clients;
  application.request = options.request;
  application.requests = options.requests;
  application.pattern = AccessPattern::strided;
  application.start_jitter = 10_ms;
  scenario.applications.push_back(application);
  return scenario;
}

Bytes peak_memory() {
  struct rusage usage {};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return {};
  return Bytes(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024);
}

}  // namespace

Result<SimBenchResult> run_sim_bench(const SimBenchOptions& options, const std::function<Nanos()>& real_now) {
  const Scenario scenario = make_scenario(options);
  SimBenchResult result;
  std::vector<Nanos> times;
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    const Nanos began = real_now();
    const auto ran = run_scenario(scenario);
    times.push_back(real_now() - began);
    if (!ran.ok()) return ran.status();
    const ApplicationResult& readers = ran->applications.front();
    if (readers.failed > 0) return Status(Code::internal, "bench sim: a read failed: " + readers.first_error);
    if (round > 0 && ran->events != result.events)
      return Status(Code::internal, "bench sim: two turns with the same seed had not the same events");
    result.events = ran->events;
    result.requests = readers.requests;
    result.bytes = readers.bytes;
    result.virtual_time = ran->duration;
  }
  std::sort(times.begin(), times.end());
  result.real_time = times.front();
  result.median_time = times[times.size() / 2];
  if (result.real_time > Nanos()) {
    result.events_per_second = static_cast<double>(result.events) / result.real_time.seconds();
  }
  result.peak_memory = peak_memory();
  return result;
}

std::string to_text(const SimBenchOptions& options, const SimBenchResult& result) {
  return fmt::format(
      "{} servers, {} clients, {} striped reads of {}, seed {}\n"
      "{} events in {} of real and {} of virtual time: {:.0f} events per second in the fastest of {} turns "
      "({} in the median one), peak memory {}\n",
      options.servers, options.clients, result.requests, to_string(options.request), options.seed,
      result.events, to_string(result.real_time), to_string(result.virtual_time), result.events_per_second,
      options.rounds, to_string(result.median_time), to_string(result.peak_memory));
}

std::string to_json(const SimBenchOptions& options, const SimBenchResult& result) {
  const nlohmann::json row = {{"servers", options.servers},
                              {"clients", options.clients},
                              {"request", options.request.count()},
                              {"requests", result.requests},
                              {"bytes", result.bytes.count()},
                              {"events", result.events},
                              {"virtual_seconds", result.virtual_time.seconds()},
                              {"rounds", options.rounds},
                              {"real_seconds", result.real_time.seconds()},
                              {"median_seconds", result.median_time.seconds()},
                              {"peak_memory", result.peak_memory.count()}};
  const nlohmann::json measured = {{"events_per_second", result.events_per_second},
                                   {"real_seconds", result.real_time.seconds()},
                                   {"peak_memory", result.peak_memory.count()}};
  const nlohmann::json report = {{"benchmark", "sim"},
                                 {"seed", options.seed},
                                 {"rows", nlohmann::json::array({row})},
                                 {"measured", measured}};
  return report.dump(2) + "\n";
}

}  // namespace tutti

namespace tutti::cli {
namespace {

int run_bench_sim(const SimBenchOptions& options, bool json) {
  Executor executor;
  const RealClock clock(executor);
  const auto result = run_sim_bench(options, [&clock] { return clock.now(); });
  if (!result.ok()) return report("bench sim", result.status());
  fmt::print("{}", json ? to_json(options, *result) : to_text(options, *result));
  return kSuccess;
}

}  // namespace

void add_bench_sim(Command& bench) {
  auto options = std::make_shared<SimBenchOptions>();
  auto json = std::make_shared<bool>(false);
  Command sim = bench.add("sim", "Events per second of the simulator", "tutti bench sim --json");
  sim.option("--servers", options->servers, "Data servers").show_default().range(1, 4096);
  sim.option("--clients", options->clients, "Clients that read").show_default().range(1, 65536);
  sim.option("--requests", options->requests, "Requests of each client").show_default();
  sim.option("--rounds", options->rounds, "Turns, of which the fastest counts").show_default().range(1, 1000);
  sim.option("--seed", options->seed, "Decides every chance").show_default();
  sim.flag("--json", *json, "Print JSON");
  sim.action([options, json] { return run_bench_sim(*options, *json); });
}

}  // namespace tutti::cli
