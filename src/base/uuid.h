// Uuid: 128 random bits that name one thing for ever.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/status.h"

namespace tutti {

struct Uuid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Uuid&) const = default;
  // The one that names nothing.
  [[nodiscard]] bool none() const { return high == 0 && low == 0; }

  static Uuid make(Random& random) { return {random.next() | 1U, random.next()}; }
};

// "0f4c3a1e-8b5d-4e2f-9a6c-7d1b2e3f4a5b"; "none" for the one that names nothing.
std::string to_string(const Uuid& uuid);
Result<Uuid> parse_uuid(std::string_view text);

}  // namespace tutti
