// How commands print: JSON for scripts, tables and long listings for people.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/file_system.h"

namespace tutti::cli {

// Keys stay in the order in which they were written.
using Json = nlohmann::ordered_json;

// Pretty, with a newline; returns the exit code. Bytes that are not UTF-8 are replaced.
int print_json(const Json& value);

// A table with aligned columns. Numbers read best to the right: say which columns are.
class Table {
 public:
  // A heading that starts with '>' is aligned to the right.
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

std::string type_name(FileType type);
// "drwxr-xr-x".
std::string mode_text(FileType type, std::uint32_t mode);
// Names where the system knows them, numbers otherwise.
std::string user_name(std::uint32_t uid);
std::string group_name(std::uint32_t gid);
// "2026-11-15 21:13:00" in the local time zone.
std::string time_text(Nanos wall);
// RFC 3339 in UTC, for JSON.
std::string time_utc(Nanos wall);

Json attributes_json(const Attributes& attributes);

}  // namespace tutti::cli
