// The inside of SimNetwork: cards, paths, hops and links. Used by network.cc, link.cc and connection.cc only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "env/executor.h"
#include "env/sim/clock.h"
#include "env/sim/network/network.h"
#include "env/sync.h"

namespace tutti::sim {

class Fabric;
class SimListener;
class Transfer;
struct Link;

inline constexpr std::uint64_t kFrameHeader = 32;  // bytes that a frame costs beside its payload
inline constexpr std::uint64_t kControlBytes = 64;

// When the receiving side of a card is busy. Messages of different senders come packet by packet: a small one that comes in the
// middle of a large one takes its own time and no more, whichever ends first.
class Reception {
 public:
  // A message whose first byte came at `begin` takes so much of the card's time. When the card has all of it.
  Nanos take(Nanos begin, Nanos needed);
  void clear() { busy_.clear(); }

 private:
  struct Interval {
    Nanos begin;
    Nanos end;
  };
  static constexpr std::size_t kMost =
      64;                       // older ones are forgotten: nothing that began before them is still to come
  std::vector<Interval> busy_;  // apart, ascending
};

// One node's card and what is reachable on the node.
struct Node {
  NodeId id = 0;
  bool up = true;
  NicModel nic;
  std::uint64_t nanos_per_byte_q20 = 0;  // fixed point with 20 bits of fraction
  Nanos transmit_free;
  Reception reception;
  NodeTraffic traffic;
  std::map<std::string, SimListener*, std::less<>> listeners;
  Peer peer;

  void set_nic(const NicModel& model);
  [[nodiscard]] Nanos wire_time(std::uint64_t bytes) const {
    return nic.per_message + Nanos(static_cast<std::int64_t>((bytes * nanos_per_byte_q20) >> 20U));
  }
};

// What is special between two nodes; shared by all their links.
struct Path {
  bool cut = false;
  std::int64_t factor_q10 = 1024;
  Nanos extra;
  [[nodiscard]] Nanos stretch(Nanos time) const {
    return factor_q10 == 1024 ? time : Nanos(time.count() * factor_q10 / 1024);
  }
};

// Keeps a link alive for ends, packets and waiting operations.
class LinkRef {
 public:
  LinkRef() = default;
  explicit LinkRef(Link* link);
  LinkRef(const LinkRef& other) : LinkRef(other.link_) {}
  LinkRef(LinkRef&& other) noexcept : link_(std::exchange(other.link_, nullptr)) {}
  LinkRef& operator=(LinkRef other) noexcept {
    std::swap(link_, other.link_);
    return *this;
  }
  ~LinkRef();
  Link* operator->() const { return link_; }
  Link& operator*() const { return *link_; }

 private:
  Link* link_ = nullptr;
};

// One message on its way over a link: first on the wire, then in the receiver's card if that is busy.
class Hop : public Timer {
 public:
  using Delivered = void (*)(Hop*);
  explicit Hop(Delivered delivered) : Timer(&fire), delivered_(delivered) {}
  // The link must stay alive until the hop is delivered, dropped or destroyed.
  void launch(Link& link, std::size_t to, std::uint64_t bytes);

 private:
  static void fire(Timer* self);
  void arrive();

  Delivered delivered_;
  Link* link_ = nullptr;
  std::uint32_t to_ = 0;
  bool received_ = false;
  std::uint64_t bytes_ = 0;
  Nanos on_wire_;
};

// A frame, or the end of a connection. From the fabric's pool, to which it goes back.
struct Packet : Hop {
  explicit Packet(Fabric& owner);
  void set_payload(std::span<const std::byte> bytes);

  Fabric& fabric;
  LinkRef link;
  std::uint32_t to = 0;
  bool end_of_connection = false;
  bool woken = false;  // its process runs
  std::uint16_t type = 0;
  std::uint64_t id = 0;
  std::size_t length = 0;
  std::size_t capacity = 0;
  std::unique_ptr<std::byte[]> payload;
  Packet* next = nullptr;
};

struct ExposedRegion {
  std::uint32_t generation = 1;
  bool live = false;
  Access access = Access::read;
  std::uint64_t total = 0;
  std::vector<Segment> segments;
};

// One side of a connection.
struct End {
  Node* node = nullptr;
  Peer peer;            // who is at the other side
  bool closed = false;  // by its user
  bool lost = false;    // by the other side, a cut or a crash
  bool polls = false;   // its process need not be woken
  Nanos last_arrival;   // nothing arrives before this: order
  Nanos last_wake;      // no frame reaches its process before this: order
  std::uint64_t unread = 0;
  std::uint64_t moved = 0;  // bytes of the pulls and pushes that were started here
  Packet* first = nullptr;  // arrived, not yet received
  Packet* last = nullptr;
  Packet* current = nullptr;  // its payload is in the hands of the user
  detail::WaitList receiver;
  Transfer* transfers = nullptr;  // started here
  std::vector<ExposedRegion> regions;
  std::vector<std::uint32_t> free_regions;

  [[nodiscard]] const ExposedRegion* region(std::uint64_t id) const;
};

struct Link : Timer {
  Link(Fabric& owner, Path& shared_path, Node& client, Node& server);
  ~Link();

  // Carries nothing from now on; the ends learn of it after `detection`, at once if 0.
  void sever(Nanos detection);
  // Ends everything that waits at one side; what has arrived can still be received.
  void lose(std::size_t side);
  void close(std::size_t side);
  void wake_receiver(std::size_t side);

  Fabric& fabric;
  Path& path;
  std::array<End, 2> ends;  // client, server
  bool severed = false;
  bool loopback;
  std::uint32_t references = 0;
  Link* previous = nullptr;
  Link* next = nullptr;

 private:
  static void detected(Timer* self);
};

class Fabric {
 public:
  Fabric(Simulation& world, const FabricOptions& chosen, Random chance)
      : simulation(world), executor(world.executor()), clock(world), options(chosen), random(chance) {}
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  ~Fabric();

  Path& path(NodeId a, NodeId b);
  // One way between two nodes, with a draw of jitter.
  Nanos latency(const Node& from, const Node& to, const Path& path);
  Packet& take_packet();
  void recycle(Packet& packet);

  Simulation& simulation;
  Executor& executor;
  SimClock clock;
  FabricOptions options;
  Random random;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::unique_ptr<Network>> networks;
  std::map<std::pair<NodeId, NodeId>, std::unique_ptr<Path>> paths;
  Link* links = nullptr;

 private:
  std::vector<std::unique_ptr<Packet>> packets_;
  Packet* free_ = nullptr;
};

// The user's handle of one end.
std::unique_ptr<Connection> make_connection(LinkRef link, std::size_t side);

}  // namespace tutti::sim
