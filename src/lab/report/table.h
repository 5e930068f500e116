// Table: rows of text with aligned columns, for people.
#pragma once

#include <string>
#include <vector>

namespace tutti {

class Table {
 public:
  // A heading that starts with '>' is aligned to the right: numbers read best so.
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const;
  // As GitHub's Markdown has it.
  [[nodiscard]] std::string markdown() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

}  // namespace tutti
