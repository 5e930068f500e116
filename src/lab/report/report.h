// Report: what an experiment measured, for people and for scripts.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

// Keys stay in the order in which they were written.
using Json = nlohmann::ordered_json;

// One measured value, beside what the paper gives and what we ask of ourselves.
struct Figure {
  std::string name;
  Json value;
  std::optional<double> paper;
  std::string asked;  // ">= 0.298"; empty: nothing
};

// A picture beside the report.
struct Picture {
  std::string file;  // its name
  std::string svg;
};

struct Report {
  std::string settings;  // hardware, jitter, seeds: what all rows have in common
  Json rows = Json::array();
  std::vector<Figure> figures;
  std::vector<std::string> notes;  // what a reader must know to judge the figures
  std::vector<Picture> pictures;   // `tutti lab run --pictures` writes them

  void figure(std::string name, Json value, std::optional<double> paper = {}, std::string asked = {}) {
    figures.push_back({std::move(name), std::move(value), paper, std::move(asked)});
  }
};

// Of which experiment a report is.
struct ReportTitle {
  std::string_view experiment;
  std::string_view shows;
  std::uint64_t seed = 1;
  bool real = false;  // not simulated
};

// {"experiment", "real" if it is, "seed", "settings", "rows", "measured", "paper", "asked", "notes"}.
Json to_json(const ReportTitle& title, const Report& report);
// The rows and the figures as tables, and the notes.
std::string to_text(const ReportTitle& title, const Report& report);

// A value of a report as people read it: numbers with five digits.
std::string text_of(const Json& value);

}  // namespace tutti
