// tutti sim, tutti bench sim: scenarios in the simulated world, and its speed.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "env/real/loop.h"
#include "lab/bench_sim.h"
#include "lab/scenario.h"
#include "lab/scenario_report.h"

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

void add_sim(CLI::App& root, Context& context) {
  auto options = std::make_shared<SimOptions>();
  CLI::App* sim =
      add_command(root, "sim", "Run a scenario in the simulator; the same seed gives the same output",
                  "tutti sim scenarios/two-applications.toml --seed 7");
  sim->add_option("file", options->file, "The scenario, a TOML file")->required();
  sim->add_option("--seed", options->seed, "Instead of the seed in the file");
  sim->add_flag("--json", options->json, "Print JSON");
  sim->callback([&context, options] { context.action = [options] { return run_sim(*options); }; });
}

void add_bench_sim(CLI::App& bench, Context& context) {
  auto options = std::make_shared<SimBenchOptions>();
  auto json = std::make_shared<bool>(false);
  CLI::App* sim = add_command(bench, "sim", "Events per second of the simulator", "tutti bench sim --json");
  sim->add_option("--servers", options->servers, "Data servers")
      ->capture_default_str()
      ->check(CLI::Range(1U, 4096U));
  sim->add_option("--clients", options->clients, "Clients that read")
      ->capture_default_str()
      ->check(CLI::Range(1U, 65536U));
  sim->add_option("--requests", options->requests, "Requests of each client")->capture_default_str();
  sim->add_option("--seed", options->seed, "Decides every chance")->capture_default_str();
  sim->add_flag("--json", *json, "Print JSON");
  sim->callback([&context, options, json] {
    context.action = [options, json] { return run_bench_sim(*options, *json); };
  });
}

void add_bench(CLI::App& root, Context& context) {
  CLI::App* bench = add_command(root, "bench", "Measure", "tutti bench sim --json");
  bench->require_subcommand(1);
  add_bench_sim(*bench, context);
  add_bench_data(*bench, context);
  add_bench_latency(*bench, context);
  add_bench_worker(root, context);
}

}  // namespace tutti::cli
