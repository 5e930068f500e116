// SocketNetwork: Network on Unix-domain sockets. Addresses are "unix:/path".
//
// Frames have a fixed header (frame.h). A handshake right after connecting, bounded in time, agrees on the
// version and on the mover of bulk data; the server learns from the kernel who the client is. A peer that
// breaks the protocol loses its connection (Code::malformed, Code::version) and nobody else is hurt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/units.h"
#include "env/network.h"
#include "env/real/loop.h"

namespace tutti {

// How bulk data may travel. `automatic`: by cross-memory attach if the server can reach the client's memory.
enum class MoverChoice : std::uint8_t { automatic, cma, socket };

struct SocketOptions {
  MoverChoice mover = MoverChoice::automatic;
  Nanos handshake_limit = 5_s;
  std::size_t send_queue_limit = 8U << 20U;  // a peer that leaves this much unread loses the connection
  std::uint32_t socket_mode = 0666;          // of a listener's file; who may do what is decided by identity
  std::size_t handshakes_at_once = 1024;
  Log log;
};

// Must outlive its listeners and connections; the loop must outlive it.
class SocketNetwork final : public Network {
 public:
  explicit SocketNetwork(Loop& loop, SocketOptions options = {});
  ~SocketNetwork() override;

  Task<Result<std::unique_ptr<Connection>>> connect(const std::string& address) override;
  // Replaces the file of a dead listener; Code::busy if somebody answers at the address.
  Result<std::unique_ptr<Listener>> listen(const std::string& address) override;

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace tutti
