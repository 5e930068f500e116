// Mover: how bulk data travels between a server and the memory that a client has exposed.
//
// One per connection, chosen by the handshake: cross-memory attach where the kernel allows it, the socket
// itself otherwise. Offsets and lengths come from peers and are checked here.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

#include "base/status.h"
#include "base/units.h"
#include "env/network.h"
#include "env/task.h"

namespace tutti {

class Mover {
 public:
  Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;
  virtual ~Mover() = default;

  // Whether the far end must be told the addresses of a region.
  [[nodiscard]] virtual bool needs_segments() const = 0;
  // As in Connection.
  virtual Task<Status> pull(const Region& from, Bytes offset, Places into) = 0;
  virtual Task<Status> push(ConstPlaces from, const Region& to, Bytes offset) = 0;
};

// Copies straight between the two processes with process_vm_readv and process_vm_writev; never suspends.
//
// Only between processes of one user. The memory of another user's process may block whoever touches it for as long as
// that user likes (a mapped file of a file system that does not answer), and a server with the rights to touch it may touch
// what the user may not, such as a setuid program that took the client's place. Clients bring in their memory before they
// name it (client/transfer/send.h), so that a server of the same user does not wait for it either.
class CmaMover final : public Mover {
 public:
  explicit CmaMover(const Peer& peer)
      : pid_(static_cast<pid_t>(peer.pid)), uid_(static_cast<uid_t>(peer.uid)) {}

  // Whether this process may use it with the peer.
  static Status allowed(const Peer& peer);

  [[nodiscard]] bool needs_segments() const override { return true; }
  Task<Status> pull(const Region& from, Bytes offset, Places into) override;
  Task<Status> push(ConstPlaces from, const Region& to, Bytes offset) override;

  // Reads the peer's memory once: tells whether this way works at all.
  Status probe(std::uint64_t address, std::span<std::byte> into) const;

 private:
  enum class Way { from_peer, to_peer };
  template <typename Byte>
  Status move(const Region& region, Bytes offset, std::span<const std::span<Byte>> places) const;
  [[nodiscard]] Status failure(Way way, int error) const;

  pid_t pid_;
  uid_t uid_;
};

}  // namespace tutti
