#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/parse.h"
#include "lab/experiments/experiment.h"

namespace tutti {
namespace {

constexpr const Experiment* kExperiments[] = {
#define TUTTI_EXPERIMENT(experiment) &known_experiments::experiment,
#include "lab/experiments/experiments.def"
#undef TUTTI_EXPERIMENT
};

}  // namespace

std::span<const Experiment* const> experiments() { return kExperiments; }

Result<const Experiment*> find_experiment(std::string_view name) {
  std::vector<std::string> names;
  for (const Experiment* each : experiments()) {
    if (each->name == name) return each;
    names.emplace_back(each->name);
  }
  const auto meant = nearest(std::string(name), names);
  return Status(Code::not_found, fmt::format("experiment '{}' is not known; {}", name,
                                             meant ? fmt::format("did you mean '{}'?", *meant)
                                                   : "`tutti lab list` lists them"));
}

}  // namespace tutti
