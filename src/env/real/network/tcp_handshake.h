// The handshake of a TCP connection: hello, challenge, response, welcome.
//
// Nothing but these short frames is read from a client before it is authenticated. The welcome tells where
// else the server can be reached, so that a client on its host can take the local path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "env/clock.h"
#include "env/real/network/auth.h"
#include "env/real/network/protection.h"
#include "env/real/network/socket_connection.h"
#include "env/task.h"

namespace tutti {

// What a server says of itself.
struct ServerWords {
  std::string identity;  // what clients mean when they mean this server
  std::array<std::uint64_t, 2> instance{};
  std::string local_path;  // empty: none
};

// What the client learns.
struct TcpWelcome {
  std::array<std::uint64_t, 2> instance{};
  std::string local_path;
  bool same_host = false;
  std::uint32_t uid = 0;  // whom the server takes the client for
  std::uint32_t gid = 0;
};

// Both establish the connection or return why not: Code::permission if the other side proves nothing.
Task<Result<TcpWelcome>> greet_tcp_server(SocketConnection& connection, Authenticator& authenticator,
                                          Protection protection, std::string server_name,
                                          std::string identity);
Task<Status> greet_tcp_client(SocketConnection& connection, Authenticator& authenticator,
                              Protection protection, ServerWords words, std::string client_name,
                              const Clock& clock);

// Names this host: the same for two processes exactly if they see the same kernel and the same network. A
// network namespace counts as a host of its own.
std::array<std::byte, 32> host_id();

}  // namespace tutti
