#include "lab/report/report.h"

#include <fmt/format.h>

#include <utility>

#include "lab/report/table.h"

namespace tutti {
namespace {

// Rows may differ in their keys: a table for each set of keys, in the order of their first row.
std::string rows_text(const Json& rows) {
  std::vector<std::pair<std::vector<std::string>, std::vector<const Json*>>> groups;
  for (const Json& row : rows) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : row.items()) keys.push_back(key);
    if (groups.empty() || groups.back().first != keys) groups.push_back({keys, {}});
    groups.back().second.push_back(&row);
  }
  std::string text;
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
    text += table.text() + "\n";
  }
  return text;
}

}  // namespace

std::string text_of(const Json& value) {
  if (value.is_number_float()) return fmt::format("{:.5g}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Json to_json(const ReportTitle& title, const Report& report) {
  Json measured = Json::object();
  Json paper = Json::object();
  Json asked = Json::object();
  for (const Figure& figure : report.figures) {
    measured[figure.name] = figure.value;
    if (figure.paper) paper[figure.name] = *figure.paper;
    if (!figure.asked.empty()) asked[figure.name] = figure.asked;
  }
  Json out = {{"experiment", title.experiment}};
  if (title.real) out["real"] = true;
  out["seed"] = title.seed;
  out["settings"] = report.settings;
  out["rows"] = report.rows;
  out["measured"] = measured;
  out["paper"] = paper;
  out["asked"] = asked;
  out["notes"] = report.notes;
  return out;
}

std::string to_text(const ReportTitle& title, const Report& report) {
  std::string text = fmt::format("{}: {}\n{}, from seed {} on\n\n", title.experiment, title.shows,
                                 report.settings, title.seed);
  text += rows_text(report.rows);
  Table table({"figure", ">measured", ">paper", "asked"});
  for (const Figure& figure : report.figures) {
    table.add({figure.name, text_of(figure.value), figure.paper ? fmt::format("{:.5g}", *figure.paper) : "-",
               figure.asked});
  }
  text += table.text();
  for (const std::string& note : report.notes) text += fmt::format("\n{}\n", note);
  return text;
}

}  // namespace tutti
