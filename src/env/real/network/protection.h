// What happens to the frames of a TCP connection after its handshake.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti {

// Values travel on the wire.
enum class Protection : std::uint32_t {
  none = 0,          // the network between the hosts must be one that nobody alters
  authenticate = 1,  // every frame has a tag (frame_guard.h)
  encrypt = 2,       // and its payload is for the peer alone
};

// By value.
inline constexpr std::array<std::string_view, 3> kProtectionNames = {"none", "authenticate", "encrypt"};

// "unknown" for what a peer may say and is none.
constexpr std::string_view protection_name(Protection protection) {
  const auto value = static_cast<std::uint32_t>(protection);
  return value < kProtectionNames.size() ? kProtectionNames[value] : "unknown";
}
constexpr std::optional<Protection> protection_named(std::string_view name) {
  for (std::uint32_t value = 0; value < kProtectionNames.size(); ++value) {
    if (kProtectionNames[value] == name) return static_cast<Protection>(value);
  }
  return std::nullopt;
}

}  // namespace tutti
