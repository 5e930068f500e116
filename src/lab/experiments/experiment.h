// Experiment: a named series of simulations that shows one thing, and the report of what it measured.
//
// The same options give the same report to the byte. Adding an experiment is one file and one line in registry.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tutti {

// Keys stay in the order in which they were written.
using Json = nlohmann::ordered_json;

struct ExperimentOptions {
  std::uint64_t seed = 1;
  // A small version that shows the direction only, for tests.
  bool quick = false;
  unsigned threads = 2;
  // Told after each simulation: how many of how many are done. May be empty. Called by one thread at a time.
  std::function<void(std::size_t done, std::size_t total)> progress;
};

// One measured value, beside what the paper gives and what we ask of ourselves.
struct Figure {
  std::string name;
  Json value;
  std::optional<double> paper;
  std::string asked;  // ">= 0.298"; empty: nothing
};

struct Report {
  std::string settings;  // hardware, jitter, seeds: what all rows have in common
  Json rows = Json::array();
  std::vector<Figure> figures;
  std::vector<std::string> notes;  // what a reader must know to judge the figures

  void figure(std::string name, Json value, std::optional<double> paper = {}, std::string asked = {}) {
    figures.push_back({std::move(name), std::move(value), paper, std::move(asked)});
  }
};

struct Experiment {
  std::string_view name;
  std::string_view shows;  // one line
  Result<Report> (*run)(const ExperimentOptions& options);
};

const std::vector<Experiment>& experiments();
// Code::not_found, with the nearest name.
Result<const Experiment*> find_experiment(std::string_view name);

// {"experiment", "seed", "settings", "rows", "measured", "paper", "asked", "notes"}.
Json to_json(const Experiment& experiment, const ExperimentOptions& options, const Report& report);

}  // namespace tutti
