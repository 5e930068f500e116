// The handshake of a local connection: versions, identities, and which mover carries bulk data.
#pragma once

#include <array>
#include <cstdint>

#include "base/status.h"
#include "env/network.h"
#include "env/real/network/socket_connection.h"
#include "env/real/network/socket_network.h"
#include "env/task.h"

namespace tutti {

inline constexpr std::uint32_t kTransportVersion = 1;
inline constexpr std::uint32_t kTcpVersion = 3;

// What the handshake needs to know and tells.
struct HandshakeContext {
  MoverChoice mover = MoverChoice::automatic;
  std::array<std::uint64_t, 2> instance{};  // the server's own; the client is told
  // Of the server: set to why cross-memory attach does not work with this peer.
  Status cma_failure;
};

// Both establish the connection or return why not.
Task<Status> greet_server(SocketConnection& connection, HandshakeContext& context);
Task<Status> greet_client(SocketConnection& connection, HandshakeContext& context);

// The server's refusal of a handshake, and what the client makes of it.
void reject(SocketConnection& connection, const Status& status);
Status rejection(const Frame& frame);

}  // namespace tutti
