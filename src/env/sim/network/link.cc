#include "env/sim/network/link.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "env/sim/network/transfer.h"

namespace tutti::sim {

void Node::set_nic(const NicModel& model) {
  nic = model;
  nanos_per_byte_q20 = (1'000'000'000ULL << 20U) / std::max<std::uint64_t>(model.bandwidth, 1);
}

LinkRef::LinkRef(Link* link) : link_(link) {
  if (link_ != nullptr) ++link_->references;
}

LinkRef::~LinkRef() {
  if (link_ != nullptr && --link_->references == 0) delete link_;
}

void Hop::launch(Link& link, std::size_t to, std::uint64_t bytes) {
  Fabric& fabric = link.fabric;
  End& target = link.ends[to];
  Node& from = *link.ends[1 - to].node;
  const Nanos now = fabric.simulation.now();
  link_ = &link;
  to_ = static_cast<std::uint32_t>(to);
  bytes_ = bytes;
  Nanos arrival;
  if (link.loopback) {
    const auto copy = static_cast<std::int64_t>(bytes * 1'000'000'000ULL / fabric.options.loopback_bandwidth);
    arrival = now + fabric.options.loopback_latency + Nanos(copy);
    received_ = true;
  } else {
    on_wire_ = link.path.stretch(from.wire_time(bytes));
    from.transmit_free = std::max(from.transmit_free, now) + on_wire_;
    ++from.traffic.messages_sent;
    from.traffic.bytes_sent += Bytes(bytes);
    arrival = from.transmit_free + fabric.latency(from, *target.node, link.path);
    received_ = false;
  }
  target.last_arrival = std::max(target.last_arrival, arrival);
  fabric.executor.arm(*this, target.last_arrival);
}

// Fills the gaps from `begin` on.
Nanos Reception::take(Nanos begin, Nanos needed) {
  Nanos end = begin;
  std::size_t first = busy_.size();  // of those that the new interval touches
  while (first > 0 && busy_[first - 1].end >= begin) --first;
  std::size_t last = first;
  for (; last < busy_.size(); ++last) {
    const Interval& each = busy_[last];
    if (each.begin > end) {
      const Nanos gap = each.begin - end;
      if (gap > needed) break;
      needed -= gap;
    }
    end = std::max(end, each.end);
  }
  end += needed;
  if (last == first) {
    busy_.insert(busy_.begin() + static_cast<std::ptrdiff_t>(first), Interval{begin, end});
  } else {
    busy_[first] = {std::min(busy_[first].begin, begin), std::max(busy_[last - 1].end, end)};
    busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                busy_.begin() + static_cast<std::ptrdiff_t>(last));
  }
  if (busy_.size() > kMost) busy_.erase(busy_.begin());
  return end;
}

// The last byte is here. The receiving card took the first when it was free, at the earliest when it came.
void Hop::arrive() {
  Node& node = *link_->ends[to_].node;
  const Nanos now = link_->fabric.simulation.now();
  const Nanos needed = link_->path.stretch(node.wire_time(bytes_));
  const Nanos done = std::max(node.reception.take(now - on_wire_, needed), now);
  ++node.traffic.messages_received;
  node.traffic.bytes_received += Bytes(bytes_);
  received_ = true;
  if (done > now) {
    link_->fabric.executor.arm(*this, done);
  } else {
    delivered_(this);
  }
}

void Hop::fire(Timer* self) {
  auto& hop = *static_cast<Hop*>(self);
  if (hop.received_ || hop.link_->severed) {
    hop.delivered_(&hop);
  } else {
    hop.arrive();
  }
}

namespace {

// Whether the frame waits until its process runs; it is delivered again then.
bool sleeps(Packet& packet) {
  Fabric& fabric = packet.fabric;
  const auto jitter = static_cast<std::uint64_t>(fabric.options.wake_jitter.count());
  if (packet.woken || jitter == 0) return false;
  packet.woken = true;
  End& end = packet.link->ends[packet.to];
  if (end.polls) return false;
  const Nanos woken =
      fabric.simulation.now() + Nanos(static_cast<std::int64_t>(fabric.random.below(jitter + 1)));
  end.last_wake = std::max(end.last_wake, woken);
  fabric.executor.arm(packet, end.last_wake);
  return true;
}

void deliver_packet(Hop* hop) {
  auto& packet = *static_cast<Packet*>(hop);
  if (sleeps(packet)) return;
  const LinkRef link = std::move(packet.link);
  packet.link = LinkRef();
  End& end = link->ends[packet.to];
  if (link->severed || packet.end_of_connection || end.closed) {
    if (packet.end_of_connection && !link->severed) link->lose(packet.to);
    packet.fabric.recycle(packet);
    return;
  }
  packet.next = nullptr;
  (end.last != nullptr ? end.last->next : end.first) = &packet;
  end.last = &packet;
  if (!end.receiver.empty()) {
    detail::WaitNode& node = *end.receiver.first();
    end.receiver.remove(node);
    node.resume.handle.resume();
  }
}

}  // namespace

Packet::Packet(Fabric& owner) : Hop(&deliver_packet), fabric(owner) {}

void Packet::set_payload(std::span<const std::byte> bytes) {
  if (bytes.size() > capacity) {
    capacity = std::bit_ceil(std::max<std::size_t>(bytes.size(), 256));
    payload = std::make_unique_for_overwrite<std::byte[]>(capacity);
  }
  length = bytes.size();
  if (!bytes.empty()) std::memcpy(payload.get(), bytes.data(), bytes.size());
}

const ExposedRegion* End::region(std::uint64_t id) const {
  const auto slot = static_cast<std::uint32_t>(id);
  if (slot >= regions.size()) return nullptr;
  const ExposedRegion& region = regions[slot];
  return region.live && region.generation == id >> 32U ? &region : nullptr;
}

Link::Link(Fabric& owner, Path& shared_path, Node& client, Node& server)
    : Timer(&detected), fabric(owner), path(shared_path), loopback(&client == &server) {
  ends[0].node = &client;
  ends[1].node = &server;
  next = fabric.links;
  if (next != nullptr) next->previous = this;
  fabric.links = this;
}

Link::~Link() {
  (previous != nullptr ? previous->next : fabric.links) = next;
  if (next != nullptr) next->previous = previous;
  for (End& end : ends) {
    while (end.first != nullptr) {
      Packet& packet = *end.first;
      end.first = packet.next;
      fabric.recycle(packet);
    }
    if (end.current != nullptr) fabric.recycle(*end.current);
  }
}

void Link::detected(Timer* self) {
  auto& link = *static_cast<Link*>(self);
  const LinkRef keep(&link);
  link.lose(0);
  link.lose(1);
}

void Link::sever(Nanos detection) {
  severed = true;
  if (detection > Nanos()) {
    if (!armed()) fabric.executor.arm(*this, fabric.simulation.now() + detection);
    return;
  }
  disarm();
  detected(this);
}

void Link::wake_receiver(std::size_t side) {
  detail::WaitList& receiver = ends[side].receiver;
  if (receiver.empty()) return;
  detail::WaitNode& node = *receiver.first();
  receiver.remove(node);
  fabric.executor.post(node.resume);
}

void Link::lose(std::size_t side) {
  End& end = ends[side];
  if (end.lost) return;
  end.lost = true;
  Transfer::fail_all(end);
  wake_receiver(side);
}

void Link::close(std::size_t side) {
  End& end = ends[side];
  if (end.closed) return;
  const LinkRef keep(this);
  const bool tell = !end.lost && !severed;
  end.closed = true;
  for (auto& region : end.regions) region.live = false;
  lose(side);
  if (!tell) return;
  Packet& packet = fabric.take_packet();
  packet.link = keep;
  packet.to = static_cast<std::uint32_t>(1 - side);
  packet.end_of_connection = true;
  packet.launch(*this, 1 - side, kFrameHeader);
}

Fabric::~Fabric() {
  for (auto& packet : packets_) packet->link = LinkRef();
}

Path& Fabric::path(NodeId a, NodeId b) {
  auto& slot = paths[std::minmax(a, b)];
  if (!slot) slot = std::make_unique<Path>();
  return *slot;
}

Nanos Fabric::latency(const Node& from, const Node& to, const Path& path) {
  const auto jitter = static_cast<std::uint64_t>(from.nic.jitter.count());
  const auto drawn = jitter > 0 ? static_cast<std::int64_t>(random.below(jitter + 1)) : 0;
  return (from.nic.latency + to.nic.latency) / 2 + path.extra + Nanos(drawn);
}

Packet& Fabric::take_packet() {
  if (free_ == nullptr) {
    packets_.push_back(std::make_unique<Packet>(*this));
    return *packets_.back();
  }
  Packet& packet = *free_;
  free_ = packet.next;
  packet.end_of_connection = false;
  packet.woken = false;
  return packet;
}

void Fabric::recycle(Packet& packet) {
  constexpr std::size_t kKeep = 64U << 10U;
  if (packet.capacity > kKeep) {
    packet.payload.reset();
    packet.capacity = 0;
  }
  packet.next = free_;
  free_ = &packet;
}

}  // namespace tutti::sim
