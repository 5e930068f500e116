#include <fmt/format.h>

#include "base/parse.h"
#include "lab/experiments/window/coordination.h"
#include "lab/experiments/experiment.h"

namespace tutti {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> kExperiments = {
      {"coord-spread", "ten applications, one request each: how far apart the servers finish", coord_spread},
      {"coord-apps", "completion time by number of applications, as bursts and as closed loops", coord_apps},
      {"coord-servers", "completion time by number of servers", coord_servers},
      {"coord-window", "completion time and bandwidth by length of the window", coord_window},
      {"coord-model", "the formulas of completion time against simulation", coord_model},
      {"coord-sync", "the three kinds of synchronization, with and without coordination", coord_sync},
      {"coord-beyond", "what goes beyond the paper: turns, sizes, imbalance, clocks, and the bound",
       coord_beyond},
  };
  return kExperiments;
}

Result<const Experiment*> find_experiment(std::string_view name) {
  std::vector<std::string> names;
  for (const Experiment& each : experiments()) {
    if (each.name == name) return &each;
    names.emplace_back(each.name);
  }
  const auto meant = nearest(std::string(name), names);
  return Status(Code::not_found, fmt::format("experiment '{}' is not known; {}", name,
                                             meant ? fmt::format("did you mean '{}'?", *meant)
                                                   : "`tutti lab list` lists them"));
}

Json to_json(const Experiment& experiment, const ExperimentOptions& options, const Report& report) {
  Json measured = Json::object();
  Json paper = Json::object();
  Json asked = Json::object();
  for (const Figure& figure : report.figures) {
    measured[figure.name] = figure.value;
    if (figure.paper) paper[figure.name] = *figure.paper;
    if (!figure.asked.empty()) asked[figure.name] = figure.asked;
  }
  return {{"experiment", experiment.name},
          {"seed", options.seed},
          {"settings", report.settings},
          {"rows", report.rows},
          {"measured", measured},
          {"paper", paper},
          {"asked", asked},
          {"notes", report.notes}};
}

}  // namespace tutti
