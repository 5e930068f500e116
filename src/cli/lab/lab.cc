// tutti lab: the experiments, by name.
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/lab/lab_real.h"
#include "cli/output.h"
#include "lab/experiments/experiment.h"

namespace tutti::cli {
namespace {

struct LabOptions {
  std::string name;
  std::uint64_t seed = 1;
  bool json = false;
  bool progress = false;
  bool real = false;
};

int list_experiments(bool json) {
  if (json) {
    Json list = Json::array();
    for (const Experiment& each : experiments()) list.push_back({{"name", each.name}, {"shows", each.shows}});
    return print_json(list);
  }
  Table table({"experiment", "shows"});
  for (const Experiment& each : experiments()) table.add({std::string(each.name), std::string(each.shows)});
  fmt::print("{}", table.text());
  return kSuccess;
}

std::string text_of(const Json& value) {
  if (value.is_number_float()) return fmt::format("{:.5g}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Rows may differ in their keys: a table for each set of keys, in the order of their first row.
void print_rows(const Json& rows) {
  std::vector<std::pair<std::vector<std::string>, std::vector<const Json*>>> groups;
  for (const Json& row : rows) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : row.items()) keys.push_back(key);
    if (groups.empty() || groups.back().first != keys) groups.push_back({keys, {}});
    groups.back().second.push_back(&row);
  }
  for (const auto& [keys, members] : groups) {
    std::vector<std::string> headings;
    for (const std::string& key : keys)
      headings.push_back((*members.front())[key].is_number() ? ">" + key : key);
    Table table(headings);
    for (const Json* row : members) {
      std::vector<std::string> cells;
      for (const std::string& key : keys) cells.push_back(text_of((*row)[key]));
      table.add(std::move(cells));
    }
    fmt::print("{}\n", table.text());
  }
}

void print_report(const Experiment& experiment, const LabOptions& options, const Report& report) {
  fmt::print("{}: {}\n{}, from seed {} on\n\n", experiment.name, experiment.shows, report.settings,
             options.seed);
  print_rows(report.rows);
  Table table({"figure", ">measured", ">paper", "asked"});
  for (const Figure& figure : report.figures) {
    table.add({figure.name, text_of(figure.value), figure.paper ? fmt::format("{:.5g}", *figure.paper) : "-",
               figure.asked});
  }
  fmt::print("{}", table.text());
  for (const std::string& note : report.notes) fmt::print("\n{}\n", note);
}

int run_experiment(const Globals& globals, const LabOptions& options) {
  const auto experiment = find_experiment(options.name);
  if (!experiment.ok()) return report("lab run", experiment.status());
  ExperimentOptions wanted;
  wanted.seed = options.seed;
  if (options.progress) {
    wanted.progress = [](std::size_t done, std::size_t total) {
      fmt::print(stderr, "\r{} of {} simulations{}", done, total, done == total ? "\n" : "");
    };
  }
  if (options.real && options.name != "coord-spread") {
    return report("lab run " + options.name, Status(Code::invalid, "only coord-spread runs with --real"));
  }
  const auto result = options.real ? run_real_spread(globals) : (*experiment)->run(wanted);
  if (!result.ok()) {
    const int code = report("lab run " + options.name, result.status());
    return result.code() == Code::cancelled ? kInterrupted : code;
  }
  if (options.json) return print_json(to_json(**experiment, wanted, *result));
  print_report(**experiment, options, *result);
  return kSuccess;
}

}  // namespace

void add_lab(Command& root) {
  Command lab = root.add("lab", "Experiments in the simulator", "tutti lab run coord-spread");
  lab.needs_command();
  auto json = std::make_shared<bool>(false);
  Command list = lab.add("list", "Name the experiments", "tutti lab list");
  list.flag("--json", *json, "Print JSON");
  list.action([json] { return list_experiments(*json); });
  auto options = std::make_shared<LabOptions>();
  Command run = lab.add("run", "Run an experiment; the same seed gives the same output",
                        "tutti lab run coord-spread --json");
  run.option("name", options->name, "The experiment").required();
  run.option("--seed", options->seed, "The first of its seeds").show_default();
  run.flag("--json", options->json, "Print JSON");
  run.flag("--progress", options->progress, "Say on standard error how far it is");
  run.flag("--real", options->real,
           "coord-spread: with daemons and MPI ranks of this host, the modelled disk in real time");
  run.action([&globals = root.globals(), options] { return run_experiment(globals, *options); });
}

}  // namespace tutti::cli
