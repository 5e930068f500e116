// Experiment: a named series of simulations that shows one thing, and the report of what it measured.
//
// The same options give the same report to the byte. Adding an experiment is one file, which defines an
// Experiment below known_experiments, and one line in experiments.def. One that can also be run in reality
// has a second file in cli/lab.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "lab/report/report.h"

namespace tutti {

struct ExperimentOptions {
  std::uint64_t seed = 1;
  // A small version that shows the direction only, for tests.
  bool quick = false;
  unsigned threads = 2;
  // Told after each simulation: how many of how many are done. May be empty. Called by one thread at a time.
  std::function<void(std::size_t done, std::size_t total)> progress;
};

struct Experiment {
  std::string_view name;
  std::string_view shows;  // one line
  Result<Report> (*run)(const ExperimentOptions& options);
};

// In the order of experiments.def.
std::span<const Experiment* const> experiments();
// Code::not_found, with the nearest name.
Result<const Experiment*> find_experiment(std::string_view name);

namespace known_experiments {

#define TUTTI_EXPERIMENT(experiment) extern const Experiment experiment;
#include "lab/experiments/experiments.def"
#undef TUTTI_EXPERIMENT

}  // namespace known_experiments

}  // namespace tutti
