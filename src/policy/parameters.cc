#include "policy/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/parse.h"

namespace tutti {

namespace {

Status unknown_parameter(std::string_view pair, std::span<const std::string_view> known) {
  if (known.empty()) return {Code::invalid, fmt::format("'{}': it takes no parameters", pair)};
  return {Code::invalid,
          fmt::format("'{}' is not one of its parameters: use {}=VALUE", pair, fmt::join(known, "=VALUE, "))};
}

}  // namespace

Result<Parameters> Parameters::parse(std::string_view text, std::span<const std::string_view> known) {
  Parameters parameters;
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view pair = text.substr(0, text.find(';'));
    text.remove_prefix(pair.size());
    const auto equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    if (equals == std::string_view::npos || std::find(known.begin(), known.end(), key) == known.end()) {
      return unknown_parameter(pair, known);
    }
    parameters.values_.insert_or_assign(std::string(key), std::string(pair.substr(equals + 1)));
  }
  return parameters;
}

Result<std::uint64_t> Parameters::number(std::string_view key, std::uint64_t otherwise, std::uint64_t low,
                                         std::uint64_t high) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return otherwise;
  const std::string& text = found->second;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    return Status(Code::invalid,
                  fmt::format("{}={}: use a whole number from {} to {}", key, text, low, high));
  }
  return value;
}

Result<Bytes> Parameters::bytes(std::string_view key, Bytes otherwise, Bytes low) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return otherwise;
  if (found->second == "max") return Bytes::max();
  auto value = parse_bytes(found->second);
  if (!value.ok() || *value < low) {
    return Status(Code::invalid,
                  fmt::format("{}={}: use a size from {} on, or max", key, found->second, to_string(low)));
  }
  return value;
}

std::string_view Parameters::text(std::string_view key, std::string_view otherwise) const {
  const auto found = values_.find(key);
  return found == values_.end() ? otherwise : std::string_view(found->second);
}

Result<std::size_t> Parameters::choice(std::string_view key, std::size_t otherwise,
                                       std::span<const std::string_view> allowed) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return otherwise;
  const auto word = std::find(allowed.begin(), allowed.end(), found->second);
  if (word == allowed.end()) {
    return Status(Code::invalid, fmt::format("{}={}: use {}", key, found->second, fmt::join(allowed, ", ")));
  }
  return static_cast<std::size_t>(word - allowed.begin());
}

}  // namespace tutti
