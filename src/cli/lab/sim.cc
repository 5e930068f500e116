// tutti sim: scenarios in the simulated world.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "cli/command.h"
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

}  // namespace tutti::cli
