// Our own stable hash: decides placement and order, so two builds must agree on it. Version 1.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.h"

namespace tutti {

// FNV-1a over the bytes, then mixed.
constexpr std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return mix64(hash);
}

}  // namespace tutti
