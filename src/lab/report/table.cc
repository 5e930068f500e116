#include "lab/report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tutti {

Table::Table(std::vector<std::string> headings) {
  for (std::string& heading : headings) {
    const bool right = heading.starts_with('>');
    right_.push_back(right);
    if (right) heading.erase(0, 1);
  }
  rows_.push_back(std::move(headings));
}

std::string Table::text() const {
  std::vector<std::size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += right_[i] ? fmt::format("{:>{}}", row[i], widths[i]) : fmt::format("{:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Table::markdown() const {
  std::string text;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    text += fmt::format("| {} |\n", fmt::join(rows_[i], " | "));
    if (i > 0) continue;
    text += "|";
    for (const bool right : right_) text += right ? "---:|" : "---|";
    text += "\n";
  }
  return text;
}

}  // namespace tutti
