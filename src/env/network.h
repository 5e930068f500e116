// Network: the port for messages and bulk data between processes.
//
// A connection carries frames in order. Bulk data is separate: a client exposes its memory as a region, names
// the region in a request, and the *server* moves the bytes when the request's turn has come: pull() for a write,
// push() for a read. How they travel is the transport's business (cross-memory attach, the socket, a modelled
// NIC); the code above is the same.
//
// Every operation that waits ends with Code::unavailable when the connection is lost or closed; the caller bounds
// its patience with with_timeout. Destroying a waiting operation cancels it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "env/places.h"
#include "env/shared_file.h"
#include "env/task.h"

namespace tutti {

// Message types below this belong to the transport and never reach its user.
inline constexpr std::uint16_t kFirstUserFrameType = 64;
// The payload of a frame is at most this long; a longer one costs its sender the connection.
inline constexpr std::size_t kMaxFramePayload = 1U << 20U;

// How long a server that does not run may take to learn that a client has closed: see Connection::release().
inline constexpr Nanos kReleaseTime = 2_s;

// A received frame. `payload` is aligned to 8 and valid until the next receive() on the connection.
struct Frame {
  std::uint16_t type = 0;
  std::uint64_t id = 0;  // chosen by whoever asks, repeated by whoever answers
  std::span<const std::byte> payload;
};

// Who is at the other end, as vouched for by the kernel (or, in the simulated world, by the simulation).
struct Peer {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;  // supplementary
  std::int64_t pid = 0;
  std::string name;  // for logs: "pid 1234 uid 0", "node 3"
  // It may act for any user: it holds the key of the cluster, or is root of another host, whatever uid that counts as.
  bool any_user = false;
};

// A piece of memory of the process that exposes it.
struct Segment {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
};

enum class Access : std::uint8_t { read = 1, write = 2 };  // what the server may do with the region

// Names exposed memory towards a peer. Travels in requests. The segments are as exposed where the transport
// needs them at the far end (needs_segments()), otherwise empty.
struct Region {
  std::uint64_t id = 0;
  std::vector<Segment> segments;
  // Where each segment ends, counted through all: with it a place in many segments is found without a walk.
  // Made by index(); does not travel.
  std::vector<std::uint64_t> ends = {};

  // Code::invalid if the lengths overflow.
  Status index();
};

class Connection {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;  // closes; exposed regions are withdrawn

  [[nodiscard]] virtual const Peer& peer() const = 0;

  // Takes a copy of the payload and never waits. What the transport cannot take at once is queued; a peer that
  // does not read loses the connection when the queue reaches its limit.
  virtual Status send(std::uint16_t type, std::uint64_t id, std::span<const std::byte> payload) = 0;
  // One receive() at a time. Bulk traffic of this connection is served only while a receive() is under way.
  virtual Task<Result<Frame>> receive() = 0;
  // Idempotent. Ends all waiting operations with Code::unavailable.
  virtual void close() = 0;
  [[nodiscard]] virtual bool closed() const = 0;

  // Closes, and returns when the peer cannot reach into exposed memory any more, or after `kReleaseTime`: a peer that has
  // not looked at its connections for half of that looks before it reaches into memory, and finds this one closed.
  // Blocks if that takes any time; for a request that is given up.
  virtual void release() { close(); }

  // The client's side of bulk data. The memory must stay valid until withdraw(); after withdraw() the peer's
  // pull and push of this region fail where the transport can see to it. Where it cannot (cross-memory attach),
  // a client that gives up on a request releases the connection before it reuses the memory.
  virtual std::uint64_t expose(std::span<const Segment> segments, Access access) = 0;
  virtual void withdraw(std::uint64_t region) = 0;
  [[nodiscard]] virtual bool needs_segments() const = 0;

  // The server's side. `offset` counts through the concatenated segments, and so do the places here. Moves all bytes or
  // fails; what a push has moved is in place when frames that are sent later are received. The list of places stays
  // until the operation has ended.
  virtual Task<Status> pull(const Region& from, Bytes offset, Places into) = 0;
  virtual Task<Status> push(ConstPlaces from, const Region& to, Bytes offset) = 0;
  // The same with one place.
  Task<Status> pull(const Region& from, Bytes offset, std::span<std::byte> into) {
    co_return co_await pull(from, offset, only(into));
  }
  Task<Status> push(std::span<const std::byte> from, const Region& to, Bytes offset) {
    co_return co_await push(only(from), to, offset);
  }

  // Whether pull and push never wait for the peer.
  [[nodiscard]] virtual bool moves_at_once() const { return false; }
  // How many bytes of bulk data have moved here so far. If it stays the same while a pull or push waits, the peer makes
  // no progress.
  [[nodiscard]] virtual std::uint64_t moved() const { return 0; }

  // Files that the server's side gives the client's side, where both are on one host. give() is false
  // if that cannot be done now; otherwise given() hands the file out, once, at the other end when later frames
  // arrive there. Null: it did not come, or was not claimed before many others.
  [[nodiscard]] virtual bool takes_files() const { return false; }
  virtual bool give(std::uint64_t /*key*/, const SharedFile& /*file*/) { return false; }
  virtual std::shared_ptr<const SharedFile> given(std::uint64_t /*key*/) { return nullptr; }
  // Whether the peer is a process of this one's user on this host, and the memory of both counts in the same place: it may
  // be given files to write.
  [[nodiscard]] virtual bool peer_is_own() const { return false; }
  // Looks whether the peer has closed, or has ended, also if that was not seen yet.
  [[nodiscard]] virtual bool peer_gone() { return closed(); }
};

class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;  // stops listening
  // The next peer, identified and with the transport's version agreed; handshakes of different peers do not
  // hold each other up. Ends with an error only when the listener itself is broken.
  virtual Task<Result<std::unique_ptr<Connection>>> accept() = 0;
};

class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  // Addresses: "unix:/path" in the real world, "sim:NODE/NAME" in the simulated one.
  virtual Task<Result<std::unique_ptr<Connection>>> connect(const std::string& address) = 0;
  virtual Result<std::unique_ptr<Listener>> listen(const std::string& address) = 0;
};

}  // namespace tutti
