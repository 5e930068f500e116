// SocketNetwork: Network on Unix-domain and TCP sockets. Addresses are "unix:/path" and "tcp:host:port".
//
// Frames have a fixed header (frame.h). A handshake right after connecting, bounded in time, agrees on the
// version and on the mover of bulk data. On a local socket the kernel tells the server who the client is; on
// TCP the client proves it (auth.h). A peer that breaks the protocol loses its connection (Code::malformed,
// Code::version) and nobody else is hurt.
//
// A client that connects by TCP to a server on its own host goes on by the server's local socket, if it is
// the same server that answers there and the client is the same user for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/units.h"
#include "env/network.h"
#include "env/real/loop/loop.h"
#include "env/real/network/auth.h"
#include "env/real/network/protection.h"

namespace tutti {

// How bulk data may travel. `automatic`: by cross-memory attach if the server can reach the client's memory.
enum class MoverChoice : std::uint8_t { automatic, cma, socket };

struct SocketOptions {
  MoverChoice mover = MoverChoice::automatic;
  Nanos handshake_limit = 5_s;
  std::size_t send_queue_limit = 8U << 20U;  // a peer that leaves this much unread loses the connection
  std::uint32_t socket_mode = 0666;          // of a listener's file; who may do what is decided by identity
  std::size_t handshakes_at_once = 1024;     // of a listener; the oldest unfinished one makes place
  AuthOptions auth;                          // who may come by TCP, and as whom
  Protection protection = Protection::none;  // of what goes by TCP; the same on both sides
  // What the servers at TCP addresses are, beside their addresses: a client says which one it means, so that nobody can
  // pass its words on to another. One that does not stand here is what its address says.
  std::map<std::string, std::string> identities;
  bool take_local_path = true;
  // Servers at TCP addresses send what was asked for when this process can take it: read_grants.h.
  bool grant_reads = true;
  // Servers that have sent nothing for so long give way: longer than a busy disk seeks, shorter than anybody's patience.
  Nanos grants_quiet = 100_ms;
  Log log;
};

// Must outlive its listeners and connections; the loop must outlive it.
class SocketNetwork final : public Network {
 public:
  explicit SocketNetwork(Loop& loop, SocketOptions options = {});
  ~SocketNetwork() override;

  Task<Result<std::unique_ptr<Connection>>> connect(const std::string& address) override;
  // Replaces the file of a dead local listener; Code::busy if somebody answers at the address. With port 0
  // the kernel chooses one. Code::permission for TCP unless options.auth allows it.
  Result<std::unique_ptr<Listener>> listen(const std::string& address) override;

  // Where a listener of a SocketNetwork listens; empty for another one.
  static std::string address_of(const Listener& listener);

  struct Shared;

 private:
  std::unique_ptr<Shared> shared_;
};

}  // namespace tutti
