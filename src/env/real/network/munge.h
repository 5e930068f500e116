// MUNGE credentials, by libmunge where the build found it. Each call asks the local munged and blocks until
// it answers or libmunge gives up, which takes a few seconds at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace tutti {

// Code::unsupported if this build has no libmunge.
Status munge_available();

// `socket` is munged's; empty: the default one. With `reader` only that user can open it.
Result<std::string> munge_credential(const std::string& socket, std::span<const std::byte> payload,
                                     std::optional<std::uint32_t> reader);

struct MungeIdentity {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::byte> payload;
};
// Code::permission for a credential that is not good: forged, expired, or seen before.
Result<MungeIdentity> munge_decode_credential(const std::string& socket, const std::string& credential);

}  // namespace tutti
