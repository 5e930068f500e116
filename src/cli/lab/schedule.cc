// tutti schedule: in which order transfers between clients and servers go, and how long that takes.
#include <fmt/format.h>

#include <fstream>
#include <memory>

#include "base/config.h"
#include "cli/command.h"
#include "cli/output.h"
#include "policy/target/schedule.h"

namespace tutti::cli {
namespace {

struct ScheduleOptions {
  std::string file;
  std::string method = "all";
  std::uint64_t seed = 1;
  std::string svg;
  bool json = false;
};

std::uint32_t index_of(std::vector<std::string>& names, const std::string& name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<std::uint32_t>(i);
  }
  names.push_back(name);
  return static_cast<std::uint32_t>(names.size() - 1);
}

// clients and servers may be named first, which gives their order; otherwise they come in the order of the transfers.
Result<ScheduleProblem> load(const std::string& path) {
  auto file = ConfigReader::load(path);
  if (!file.ok()) return file.status();
  ScheduleProblem problem;
  problem.clients = file->strings("clients");
  problem.servers = file->strings("servers");
  std::size_t number = 0;
  for (ConfigReader& each : file->tables("transfer")) {
    for (const char* key : {"client", "server"}) each.require(key);
    ScheduleTransfer transfer;
    transfer.name = each.word("name", fmt::format("T{}", ++number));
    transfer.client = index_of(problem.clients, each.word("client"));
    transfer.server = index_of(problem.servers, each.word("server"));
    transfer.length = static_cast<std::uint64_t>(each.integer("length", 1, 1, 1'000'000'000));
    problem.transfers.push_back(std::move(transfer));
  }
  TUTTI_TRY(file->finish());
  TUTTI_TRY(problem.validate().with_context(path));
  return problem;
}

Status save(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return {Code::io_error, fmt::format("{} cannot be written", path)};
}

int run_schedule(const ScheduleOptions& options) {
  const auto problem = load(options.file);
  if (!problem.ok()) return report("schedule", problem.status());
  std::vector<std::string> methods = schedule_method_names();
  if (options.method != "all") methods = {options.method};
  const std::uint64_t bound = schedule_bound(*problem);
  Json json = {{"bound", bound}, {"methods", Json::array()}};
  for (const std::string& name : methods) {
    const auto method = schedule_method(name);
    if (!method.ok()) return report("schedule", method.status());
    const Schedule schedule = make_schedule(*problem, *method, options.seed);
    Json parts = Json::array();
    for (const ScheduledPart& part : schedule.parts) {
      const ScheduleTransfer& transfer = problem->transfers[part.transfer];
      parts.push_back({{"transfer", transfer.name},
                       {"client", problem->clients[transfer.client]},
                       {"server", problem->servers[transfer.server]},
                       {"start", part.start},
                       {"length", part.length}});
    }
    json["methods"].push_back({{"method", name}, {"length", schedule.length}, {"parts", std::move(parts)}});
    if (!options.json) {
      fmt::print("{}: length {}\n", name, schedule.length);
      if (methods.size() == 1) fmt::print("{}", schedule_table(*problem, schedule));
    }
    if (!options.svg.empty() && methods.size() == 1) {
      if (const Status saved = save(options.svg, schedule_svg(*problem, schedule, name)); !saved.ok())
        return report("schedule", saved);
    }
  }
  if (options.json) return print_json(json);
  fmt::print("No schedule is shorter than {}.\n", bound);
  return kSuccess;
}

}  // namespace

void add_schedule(Command& root) {
  auto options = std::make_shared<ScheduleOptions>();
  Command schedule =
      root.add("schedule", "In which order transfers between clients and servers go, and how long that takes",
               "tutti schedule share/schedules/figure-1.toml --method hash --svg hash.svg");
  schedule.option("file", options->file, "The transfers, a TOML file").required();
  std::vector<std::string> methods = schedule_method_names();
  methods.insert(methods.begin(), "all");
  schedule.option("--method", options->method, "Only this one, with its table")
      .one_of(methods)
      .show_default();
  schedule.option("--seed", options->seed, "Of what is drawn").show_default();
  schedule.option("--svg", options->svg, "Write a picture, of one method, to this file");
  schedule.flag("--json", options->json, "Print JSON");
  schedule.action([options] {
    if (!options->svg.empty() && options->method == "all") {
      fmt::print(stderr, "tutti: schedule: --svg needs one --method\n");
      return kUsage;
    }
    return run_schedule(*options);
  });
}

}  // namespace tutti::cli
