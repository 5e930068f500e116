// tutti sim, tutti bench sim: scenarios in the simulated world, and its speed.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "env/real/loop/loop.h"
#include "cli/bench/bench_sim.h"
#include "lab/scenario/scenario.h"
#include "lab/scenario/scenario_report.h"

namespace tutti::cli {
namespace {

struct SimOptions {
  std::string file;
  std::optional<std::uint64_t> seed;
  bool json = false;
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (!text.ends_with('\n')) std::fputs("\n", stdout);
}

int run_sim(const SimOptions& options) {
  auto scenario = load_scenario(options.file);
  if (!scenario.ok()) return report("sim", scenario.status());
  if (options.seed) scenario->cluster.seed = *options.seed;
  const auto result = run_scenario(*scenario);
  if (!result.ok()) return report("sim " + options.file, result.status());
  print(options.json ? to_json(*scenario, *result) : to_text(*scenario, *result));
  return kSuccess;
}

int run_bench_sim(const SimBenchOptions& options, bool json) {
  Executor executor;
  const RealClock clock(executor);
  const auto result = run_sim_bench(options, [&clock] { return clock.now(); });
  if (!result.ok()) return report("bench sim", result.status());
  print(json ? to_json(options, *result) : to_text(options, *result));
  return kSuccess;
}

}  // namespace

void add_sim(Command& root) {
  auto options = std::make_shared<SimOptions>();
  Command sim = root.add("sim", "Run a scenario in the simulator; the same seed gives the same output",
                         "tutti sim scenarios/two-applications.toml --seed 7");
  sim.option("file", options->file, "The scenario, a TOML file").required();
  sim.option("--seed", options->seed, "Instead of the seed in the file");
  sim.flag("--json", options->json, "Print JSON");
  sim.action([options] { return run_sim(*options); });
}

void add_bench_sim(Command& bench) {
  auto options = std::make_shared<SimBenchOptions>();
  auto json = std::make_shared<bool>(false);
  Command sim = bench.add("sim", "Events per second of the simulator", "tutti bench sim --json");
  sim.option("--servers", options->servers, "Data servers").show_default().range(1, 4096);
  sim.option("--clients", options->clients, "Clients that read").show_default().range(1, 65536);
  sim.option("--requests", options->requests, "Requests of each client").show_default();
  sim.option("--seed", options->seed, "Decides every chance").show_default();
  sim.flag("--json", *json, "Print JSON");
  sim.action([options, json] { return run_bench_sim(*options, *json); });
}

void add_bench(Command& root) {
  Command bench = root.add("bench", "Measure", "tutti bench sim --json");
  bench.needs_command();
  add_bench_sim(bench);
  add_bench_queue(bench);
  add_bench_data(bench);
  add_bench_latency(bench);
  add_bench_mpi(bench);
  add_bench_worker(root);
}

}  // namespace tutti::cli
