// Sizes and durations as people write them, and a guess at what a misspelt word meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

// "64KiB", "1.5 MiB", "4096", "10GB": binary and decimal units; a lone K, M, G, T is binary, as people write
// it.
Result<Bytes> parse_bytes(std::string_view text);
// "250ms", "60s", "1.5h": ns, us, ms, s, min, h, d.
Result<Nanos> parse_duration(std::string_view text);

// The candidate that a misspelt word most likely meant; nothing if none is near.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace tutti
