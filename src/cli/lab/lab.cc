// tutti lab: the experiments, by name.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/command.h"
#include "cli/lab/figures.h"
#include "cli/lab/mount.h"
#include "cli/lab/real_run.h"
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
  std::string pictures;
};

Status write_pictures(const std::string& directory, const Report& report) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  for (const Picture& picture : report.pictures) {
    std::string file = picture.file;
    std::replace(file.begin(), file.end(), ' ', '-');
    const std::filesystem::path path = std::filesystem::path(directory) / file;
    std::ofstream out(path);
    out << picture.svg;
    out.close();
    if (!out) return Status(Code::io_error, fmt::format("{} cannot be written", path.string()));
  }
  return Status();
}

int list_experiments(bool json) {
  if (json) {
    Json list = Json::array();
    for (const Experiment* each : experiments()) {
      list.push_back(
          {{"name", each->name}, {"shows", each->shows}, {"real", find_real_run(each->name) != nullptr}});
    }
    return print_json(list);
  }
  Table table({"experiment", "shows"});
  for (const Experiment* each : experiments()) table.add({std::string(each->name), std::string(each->shows)});
  fmt::print("{}", table.text());
  return kSuccess;
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
  const RealRun* real = options.real ? find_real_run(options.name) : nullptr;
  if (options.real && real == nullptr) {
    print_error("lab run " + options.name,
                Status(Code::invalid, "it is only simulated; with --real there is " + real_runs_help()));
    return kUsage;
  }
  const auto result = real != nullptr ? real->run(globals) : (*experiment)->run(wanted);
  if (!result.ok()) {
    const int code = report("lab run " + options.name, result.status());
    return result.code() == Code::cancelled ? kInterrupted : code;
  }
  if (!options.pictures.empty()) {
    if (const Status written = write_pictures(options.pictures, *result); !written.ok()) {
      return report("lab run " + options.name, written);
    }
  }
  const ReportTitle title{(*experiment)->name, (*experiment)->shows, options.seed, options.real};
  if (options.json) return print_json(to_json(title, *result));
  fmt::print("{}", to_text(title, *result));
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
  run.option("name", options->name, "The experiment").required().checked([](const std::string& name) {
    return find_experiment(name).status();
  });
  run.option("--seed", options->seed, "The first of its seeds").show_default();
  run.flag("--json", options->json, "Print JSON");
  run.flag("--progress", options->progress, "Say on standard error how far it is");
  run.flag("--real", options->real, "In reality, where there is such a run. " + real_runs_help());
  run.option("--pictures", options->pictures,
             "Write its pictures (SVG) into this directory, where it has some");
  run.action([&globals = root.globals(), options] { return run_experiment(globals, *options); });
  add_lab_figures(lab);
  add_lab_mount(lab);
}

}  // namespace tutti::cli
