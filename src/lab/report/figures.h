// Figures that documents quote: kept in one store, and written into the documents from there, so that two
// documents cannot disagree. Pure.
//
// A *result* is what `tutti bench NAME --json` and `tutti lab run NAME --json` print; its name is NAME
// (NAME-real with --real). The store keeps the measured values of every run of a result. A document says by
// marks what stands where; what is between two marks is written anew:
//   <!-- figures NAME -->
//   a table: that of FigureTable NAME, or all figures of the result NAME
//   <!-- /figures -->
//   ... reach <!-- figure data.write_1m_4_ratio -->1.07 to 1.37<!-- /figure --> of raw ...
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "lab/report/report.h"

namespace tutti {

class FigureStore {
 public:
  // What to_json() gave. Code::malformed for anything else.
  static Result<FigureStore> parse(std::string_view text);
  [[nodiscard]] Json to_json() const;

  // Results of one name are runs of one measurement; they replace the runs that were stored. Code::malformed,
  // and nothing is changed, if one of them is no result.
  Status add(const std::vector<Json>& results);

  [[nodiscard]] bool has(std::string_view result) const;
  // "1.07 to 1.37" of "data.write_1m_4_ratio": the range over the runs; "not measured" if there is no such
  // result. Code::not_found if the result has no such figure.
  [[nodiscard]] Result<std::string> text(std::string_view figure) const;
  // The command that measured the result of a figure; empty if there is none.
  [[nodiscard]] std::string command(std::string_view figure) const;
  // All figures of a result, in Markdown, beside what the paper says and what is asked.
  [[nodiscard]] std::string table(std::string_view result) const;

 private:
  struct Entry {
    std::string name;
    std::vector<Json> values;  // of each run
    std::optional<double> paper;
    std::string asked;
  };
  struct Measured {
    std::string command;
    std::vector<Entry> figures;
  };

  std::map<std::string, Measured, std::less<>> results_;
};

// Figures of several results in words of their own.
struct FigureTable {
  struct Row {
    std::string what;
    std::vector<std::string> figures;  // "data.write_1m_4_ratio"
  };
  std::string name;
  std::vector<Row> rows;
};

// From TOML: [[table]] with name, and [[table.row]] with what and figures. `name` stands for the file in
// messages.
Result<std::vector<FigureTable>> parse_figure_tables(std::string_view text, std::string name);

// The document with what is between marks written anew. Code::invalid with the line for a mark without an end
// and for a name that nobody knows.
Result<std::string> fill_in_figures(std::string_view document, const FigureStore& store,
                                    const std::vector<FigureTable>& tables);

}  // namespace tutti
