// The replies of the metadata server as message bytes. Pure.
//
// A reply that carries an error is a StatusReply whatever the request: every reply table begins with code and
// message, so it reads as any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "server/capability.h"
#include "server/meta/tree.h"

namespace tutti::meta {

// Signs capabilities for one user.
struct Signer {
  ServerKey key;
  std::uint32_t uid = 0;
  Nanos expiry;  // wall
};

std::string status_reply(const Status& status);
// Rights to read are also those to keep what is read from, for the owner and uid 0.
std::uint32_t kept_rights(const Inode& node, std::uint32_t rights, std::uint32_t uid);
// With a capability for `rights` if there are any and the node is a file; `end` is up to where it is written, if that is known.
std::string node_reply(const Inode& node, std::uint32_t rights, bool created,
                       std::optional<std::uint64_t> end, const Signer& signer);
// Each file whose inode is there comes with what `end_of` says and, unless it is empty, a capability to ask for the length.
std::string list_reply(const Listing& listing, const Signer& signer,
                       const std::function<std::optional<std::uint64_t>(const Inode&)>& end_of);
std::string capability_reply(const wire::Capability& capability);

inline std::span<const std::byte> as_bytes(const std::string& message) {
  return std::as_bytes(std::span(message.data(), message.size()));
}

}  // namespace tutti::meta
