// The handshake of a socket connection: versions, identities, and which mover carries bulk data.
#pragma once

#include <memory>

#include "base/status.h"
#include "env/real/socket_connection.h"
#include "env/real/socket_network.h"
#include "env/task.h"

namespace tutti {

// What the handshake needs to know and tells.
struct HandshakeContext {
  MoverChoice mover = MoverChoice::automatic;
  // Of the server: set to why cross-memory attach does not work with this peer.
  Status cma_failure;
};

// Both establish the connection or return why not.
Task<Status> greet_server(SocketConnection& connection, HandshakeContext& context);
Task<Status> greet_client(SocketConnection& connection, HandshakeContext& context);

}  // namespace tutti
