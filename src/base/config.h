// ConfigReader: reads a TOML file against a schema that the reading code itself is.
//
// Each getter names a key, its default and its range; finish() then reports the first thing that was wrong,
// or the first key that nobody asked for, with file, line and the nearest known name:
//   cluster.toml:7: unknown key 'polcy'; did you mean 'policy'?
// After an error getters return their default, so a whole file is read without a check at each key and
// finish() decides. Cheap to copy; copies and the readers of nested tables share one document. One thread at
// a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

class ConfigReader {
 public:
  static Result<ConfigReader> load(const std::string& path);
  // `name` stands for the file in messages.
  static Result<ConfigReader> parse(std::string_view text, std::string name);

  // Does not count as asking for the key.
  [[nodiscard]] bool has(std::string_view key) const;
  // An error if the key is missing.
  void require(std::string_view key);

  std::string string(std::string_view key, std::string_view fallback = {});
  // A string, or an integer as its digits.
  std::string word(std::string_view key, std::string_view fallback = {});
  // One of `allowed`; another word is an error that lists them.
  std::string choice(std::string_view key, std::string_view fallback, std::span<const std::string> allowed);
  bool boolean(std::string_view key, bool fallback);
  std::int64_t integer(std::string_view key, std::int64_t fallback, std::int64_t low, std::int64_t high);
  // All 64 bits, which TOML's integers cannot hold: "0x" and hexadecimal digits as a string, or an integer.
  std::uint64_t identifier(std::string_view key, std::uint64_t fallback);
  // An integer is accepted as well.
  double number(std::string_view key, double fallback, double low, double high);
  // "64KiB" or a number of bytes; see parse_bytes().
  Bytes bytes(std::string_view key, Bytes fallback, Bytes low, Bytes high);
  // "250ms"; a plain number is refused because its unit would be a guess. See parse_duration().
  Nanos duration(std::string_view key, Nanos fallback, Nanos low, Nanos high);
  std::vector<std::string> strings(std::string_view key);
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t low, std::int64_t high);
  std::vector<double> numbers(std::string_view key, double low, double high);

  // The table under the key; an empty one if there is none.
  ConfigReader table(std::string_view key);
  // An array of tables ([[server]]); a single table is taken as an array of one.
  std::vector<ConfigReader> tables(std::string_view key);
  // The keys of this table, in the order of the file: for tables whose keys are names. Does not count as
  // asking.
  [[nodiscard]] std::vector<std::string> keys() const;

  // Reports a fault of meaning at a key, "file:line: key: message", as the getters do for type and range.
  void fail(std::string_view key, std::string_view message);
  // "file:line" of the key, or of the table if the key is missing.
  [[nodiscard]] std::string where(std::string_view key) const;

  // The first error or unknown key of the whole document. Call it on any reader, after everything was asked
  // for.
  [[nodiscard]] Status finish() const;

 private:
  struct Document;
  struct Node;
  ConfigReader(std::shared_ptr<Document> document, std::shared_ptr<Node> node);
  ConfigReader child(const void* table, std::string path);

  std::shared_ptr<Document> document_;
  std::shared_ptr<Node> node_;
};

}  // namespace tutti
