// Capabilities: what a client shows to a data server instead of an identity.
//
// The metadata server makes one at open; it names the file, the rights and the expiry, with a keyed hash
// (BLAKE2b) under a key that only servers hold. A data server checks it without asking anybody.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/units.h"
#include "wire/messages.h"

namespace tutti {

// Stands for a whole message where a capability names a file: servers make capabilities for messages among themselves.
std::uint64_t message_digest(std::string_view bytes);

class ServerKey {
 public:
  static constexpr std::size_t kSize = 32;
  static constexpr std::size_t kMostKeys = 4;

  // A key file of 32 random bytes, mode 0600; refused if others can read it. Up to kMostKeys keys may stand in it, one
  // behind the other: the first one signs, all of them count. So a key is changed in three rounds of restarts: the new
  // one is added behind the old one; put before it; the old one is taken away.
  static Result<ServerKey> load(const std::string& path);
  // Makes a new key file; fails if it exists.
  static Result<ServerKey> create(const std::string& path);
  // For tests and the simulated world: the same seed gives the same key.
  static ServerKey from_seed(std::uint64_t seed);

  [[nodiscard]] wire::Capability sign(std::uint64_t file, std::uint32_t rights, std::uint32_t uid,
                                      Nanos expiry) const;
  // Code::bad_capability for a wrong hash or lacking rights, Code::expired when its time is over.
  [[nodiscard]] Status check(const wire::Capability& capability, std::uint32_t rights, Nanos wall) const;
  // The same without the hash, for one that is known to be genuine.
  [[nodiscard]] static Status permits(const wire::Capability& capability, std::uint32_t rights, Nanos wall);
  // Only the hash.
  [[nodiscard]] bool genuine(const wire::Capability& capability) const;

 private:
  using Key = std::array<std::uint8_t, kSize>;
  ServerKey() = default;
  [[nodiscard]] static std::array<std::uint8_t, 32> mac(const wire::Capability& capability, const Key& key);
  std::array<Key, kMostKeys> keys_{};  // the first `count_`
  std::size_t count_ = 1;
};

}  // namespace tutti
