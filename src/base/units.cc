#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace tutti {

std::string to_string(Bytes bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes.count());
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes.count()) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string to_string(Nanos nanos) {
  const auto count = static_cast<double>(nanos.count());
  const double size = count < 0 ? -count : count;
  if (size < 1e3) return fmt::format("{} ns", nanos.count());
  if (size < 1e6) return fmt::format("{:.1f} us", count / 1e3);
  if (size < 1e9) return fmt::format("{:.1f} ms", count / 1e6);
  return fmt::format("{:.2f} s", count / 1e9);
}

}  // namespace tutti
