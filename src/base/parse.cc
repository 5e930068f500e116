#include "base/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tutti {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKibi = 1024;

constexpr std::array kByteUnits = {
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"K", kKibi},
    Unit{"KiB", kKibi},
    Unit{"M", kKibi* kKibi},
    Unit{"MiB", kKibi* kKibi},
    Unit{"G", kKibi* kKibi* kKibi},
    Unit{"GiB", kKibi* kKibi* kKibi},
    Unit{"T", kKibi* kKibi* kKibi* kKibi},
    Unit{"TiB", kKibi* kKibi* kKibi* kKibi},
    Unit{"KB", 1e3},
    Unit{"kB", 1e3},
    Unit{"MB", 1e6},
    Unit{"GB", 1e9},
    Unit{"TB", 1e12},
};

constexpr std::array kTimeUnits = {
    Unit{"ns", 1},     Unit{"us", 1e3},   Unit{"ms", 1e6},    Unit{"s", 1e9},
    Unit{"min", 60e9}, Unit{"h", 3600e9}, Unit{"d", 86400e9},
};

// The value in base units; whole numbers stay exact up to 2^63.
std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string_view unit = text.substr(digits);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto* known = std::find_if(units.data(), units.data() + units.size(),
                                   [&](const Unit& candidate) { return candidate.name == unit; });
  if (digits == 0 || known == units.data() + units.size()) return std::nullopt;
  const char* first = text.data();
  const char* last = first + digits;
  std::uint64_t whole = 0;
  if (auto [end, error] = std::from_chars(first, last, whole); error == std::errc() && end == last) {
    const auto factor = static_cast<std::uint64_t>(known->factor);
    if (whole > std::uint64_t{std::numeric_limits<std::int64_t>::max()} / factor) return std::nullopt;
    return whole * factor;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  value = std::round(value * known->factor);
  if (!(value >= 0 && value < 9.2e18)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above[b.size()];
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  if (const auto value = parse_quantity(text, kByteUnits)) return Bytes(*value);
  return Status(Code::invalid, fmt::format("'{}' is not a size; write 4096, 64KiB, 1MiB or 1GB", text));
}

Result<Nanos> parse_duration(std::string_view text) {
  if (const auto value = parse_quantity(text, kTimeUnits)) return Nanos(static_cast<std::int64_t>(*value));
  return Status(Code::invalid, fmt::format("'{}' is not a duration; write 250ms, 60s or 2h", text));
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= least || distance >= candidate.size()) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

}  // namespace tutti
