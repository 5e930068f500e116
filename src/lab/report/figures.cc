#include "lab/report/figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "lab/report/table.h"

namespace tutti {
namespace {

Status no_store(const std::string& why) {
  return {Code::malformed, "not a store of figures, which `tutti lab figures` writes: " + why};
}

std::string with_commas(const std::string& digits) {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

// Three digits that count; all of a whole number.
std::string number_text(const Json& value) {
  if (value.is_number_unsigned()) return with_commas(std::to_string(value.get<std::uint64_t>()));
  const double number = value.get<double>();
  if (number < 1000) return fmt::format("{:.3g}", number);
  const double unit = std::pow(10, std::floor(std::log10(number)) - 2);
  return with_commas(fmt::format("{:.0f}", std::round(number / unit) * unit));
}

// The range of the numbers, or the words there are.
std::string range_text(const std::vector<Json>& values) {
  const bool numbers =
      std::all_of(values.begin(), values.end(), [](const Json& each) { return each.is_number(); });
  std::vector<std::string> texts;
  if (numbers) {
    const auto [low, high] =
        std::minmax_element(values.begin(), values.end(),
                            [](const Json& a, const Json& b) { return a.get<double>() < b.get<double>(); });
    texts = {number_text(*low), number_text(*high)};
  } else {
    for (const Json& value : values) texts.push_back(text_of(value));
  }
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return fmt::format("{}", fmt::join(texts, numbers ? " to " : ", "));
}

// Whether a value is what was asked for: ">= 0.298", "<= 1.3", "> 0". Other words ask nothing that can be
// compared.
bool meets(const Json& value, const std::string& asked) {
  const std::size_t space = asked.find(' ');
  char* end = nullptr;
  const double bound = space == std::string::npos ? 0 : std::strtod(asked.c_str() + space, &end);
  if (end == nullptr || *end != '\0' || !value.is_number()) return true;
  const double number = value.get<double>();
  const std::string relation = asked.substr(0, space);
  if (relation == ">=") return number >= bound;
  if (relation == "<=") return number <= bound;
  if (relation == ">") return number > bound;
  return relation != "<" || number < bound;
}

std::string name_of(const Json& result) {
  for (const char* key : {"experiment", "benchmark"}) {
    if (!result.contains(key) || !result[key].is_string()) continue;
    const std::string name = result[key].get<std::string>();
    return result.value("real", false) ? name + "-real" : name;
  }
  return {};
}

std::string command_of(const Json& result) {
  if (!result.contains("experiment")) return "tutti bench " + result["benchmark"].get<std::string>();
  const std::string command = "tutti lab run " + result["experiment"].get<std::string>();
  return result.value("real", false) ? command + " --real" : command;
}

}  // namespace

Result<FigureStore> FigureStore::parse(std::string_view text) {
  const Json read = Json::parse(text, nullptr, false);
  if (!read.is_object()) return no_store("no JSON object");
  FigureStore store;
  for (const auto& [name, result] : read.items()) {
    if (!result.is_object() || !result.contains("command") || !result["command"].is_string() ||
        !result.contains("figures") || !result["figures"].is_object()) {
      return no_store(name);
    }
    Measured& measured = store.results_[name];
    measured.command = result["command"].get<std::string>();
    for (const auto& [figure, facts] : result["figures"].items()) {
      if (!facts.is_object() || !facts.contains("values") || !facts["values"].is_array() ||
          facts["values"].empty()) {
        return no_store(fmt::format("{}.{}", name, figure));
      }
      Entry entry;
      entry.name = figure;
      entry.values = facts["values"].get<std::vector<Json>>();
      if (facts.contains("paper") && facts["paper"].is_number()) entry.paper = facts["paper"].get<double>();
      if (facts.contains("asked") && facts["asked"].is_string())
        entry.asked = facts["asked"].get<std::string>();
      measured.figures.push_back(std::move(entry));
    }
  }
  return store;
}

Json FigureStore::to_json() const {
  Json out = Json::object();
  for (const auto& [name, measured] : results_) {
    Json figures = Json::object();
    for (const Entry& entry : measured.figures) {
      Json facts = {{"values", entry.values}};
      if (entry.paper) facts["paper"] = *entry.paper;
      if (!entry.asked.empty()) facts["asked"] = entry.asked;
      figures[entry.name] = std::move(facts);
    }
    out[name] = {{"command", measured.command}, {"figures", std::move(figures)}};
  }
  return out;
}

Status FigureStore::add(const std::vector<Json>& results) {
  std::map<std::string, Measured, std::less<>> fresh;
  for (const Json& result : results) {
    const std::string name = result.is_object() ? name_of(result) : "";
    if (name.empty() || !result.contains("measured") || !result["measured"].is_object()) {
      return {Code::malformed,
              "not a result: use what `tutti bench NAME --json` or `tutti lab run NAME --json` printed"};
    }
    Measured& measured = fresh[name];
    measured.command = command_of(result);
    for (const auto& [figure, value] : result["measured"].items()) {
      auto entry = std::find_if(measured.figures.begin(), measured.figures.end(),
                                [&key = figure](const Entry& each) { return each.name == key; });
      if (entry == measured.figures.end()) {
        entry = measured.figures.insert(entry, Entry{figure, {}, {}, {}});
        if (result.contains("paper") && result["paper"].contains(figure))
          entry->paper = result["paper"][figure].get<double>();
        if (result.contains("asked") && result["asked"].contains(figure))
          entry->asked = result["asked"][figure].get<std::string>();
      }
      entry->values.push_back(value);
    }
  }
  for (auto& [name, measured] : fresh) results_.insert_or_assign(name, std::move(measured));
  return {};
}

bool FigureStore::has(std::string_view result) const { return results_.contains(result); }

std::string FigureStore::command(std::string_view figure) const {
  const auto found = results_.find(figure.substr(0, figure.find('.')));
  return found == results_.end() ? std::string() : found->second.command;
}

Result<std::string> FigureStore::text(std::string_view figure) const {
  const std::string_view result = figure.substr(0, figure.find('.'));
  const auto found = results_.find(result);
  if (found == results_.end()) return std::string("not measured");
  for (const Entry& entry : found->second.figures) {
    if (entry.name == figure.substr(std::min(figure.size(), result.size() + 1)))
      return range_text(entry.values);
  }
  return Status(Code::not_found, fmt::format("'{}' is no figure of `{}`", figure, found->second.command));
}

std::string FigureStore::table(std::string_view result) const {
  Table table({"figure", ">measured", ">paper", "asked"});
  for (const Entry& entry : results_.find(result)->second.figures) {
    const bool met = std::all_of(entry.values.begin(), entry.values.end(),
                                 [&](const Json& value) { return meets(value, entry.asked); });
    table.add({entry.name, range_text(entry.values), entry.paper ? number_text(*entry.paper) : "",
               met ? entry.asked : entry.asked + ", **missed**"});
  }
  return table.markdown();
}

}  // namespace tutti
