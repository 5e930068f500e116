// Tables of figures from TOML, and what stands between the marks of a document.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/config.h"
#include "lab/report/figures.h"
#include "lab/report/table.h"

namespace tutti {
namespace {

constexpr std::string_view kBegin = "<!-- figure";
constexpr std::string_view kClose = " -->";

Result<std::string> table_text(const FigureTable& table, const FigureStore& store) {
  Table text({"what", "command", "figure"});
  for (const FigureTable::Row& row : table.rows) {
    std::vector<std::string> figures;
    std::vector<std::string> commands;
    for (const std::string& figure : row.figures) {
      auto value = store.text(figure);
      if (!value.ok()) return value.status();
      figures.push_back(*std::move(value));
      const std::string command = store.command(figure);
      if (command.empty() || std::count(commands.begin(), commands.end(), "`" + command + "`") > 0) continue;
      commands.push_back("`" + command + "`");
    }
    text.add({row.what, fmt::format("{}", fmt::join(commands, ", ")),
              fmt::format("{}", fmt::join(figures, ", "))});
  }
  return text.markdown();
}

Result<std::string> named_table(std::string_view name, const FigureStore& store,
                                const std::vector<FigureTable>& tables) {
  const auto table =
      std::find_if(tables.begin(), tables.end(), [&](const FigureTable& each) { return each.name == name; });
  if (table != tables.end()) return table_text(*table, store);
  if (store.has(name)) return store.table(name);
  return Status(Code::not_found, fmt::format("no table and no stored result is called '{}'", name));
}

std::size_t line_of(std::string_view document, std::size_t place) {
  return 1 + static_cast<std::size_t>(
                 std::count(document.begin(), document.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
}

}  // namespace

Result<std::vector<FigureTable>> parse_figure_tables(std::string_view text, std::string name) {
  auto reader = ConfigReader::parse(text, std::move(name));
  if (!reader.ok()) return reader.status();
  std::vector<FigureTable> tables;
  for (ConfigReader& each : reader->tables("table")) {
    FigureTable table;
    each.require("name");
    table.name = each.string("name");
    for (ConfigReader& row : each.tables("row")) {
      row.require("what");
      row.require("figures");
      table.rows.push_back({row.string("what"), row.strings("figures")});
    }
    tables.push_back(std::move(table));
  }
  TUTTI_TRY(reader->finish());
  return tables;
}

Result<std::string> fill_in_figures(std::string_view document, const FigureStore& store,
                                    const std::vector<FigureTable>& tables) {
  std::string filled;
  std::size_t at = 0;
  for (std::size_t mark; (mark = document.find(kBegin, at)) != std::string_view::npos;) {
    const auto wrong = [&](std::string_view why) {
      return Status(Code::invalid, fmt::format("line {}: {}", line_of(document, mark), why));
    };
    std::string_view rest = document.substr(mark + kBegin.size());
    const bool table = rest.starts_with("s ");
    if (!table && !rest.starts_with(' ')) return wrong("use <!-- figure NAME --> or <!-- figures NAME -->");
    rest.remove_prefix(table ? 2 : 1);
    const std::string_view end_mark = table ? "<!-- /figures -->" : "<!-- /figure -->";
    const std::size_t close = rest.find(kClose);
    const std::size_t end = rest.find(end_mark);
    const std::size_t other = rest.find(kBegin);
    if (close == std::string_view::npos || end == std::string_view::npos || close > end || other < end)
      return wrong(fmt::format("a mark without its {}", end_mark));
    const std::string_view name = rest.substr(0, close);
    const auto text = table ? named_table(name, store, tables) : store.text(name);
    if (!text.ok()) return wrong(text.status().message());
    const std::size_t begin = document.size() - rest.size() + close + kClose.size();
    filled += document.substr(at, begin - at);
    filled += table ? "\n" + *text : *text;
    at = document.size() - rest.size() + end;
  }
  filled += document.substr(at);
  return filled;
}

}  // namespace tutti
