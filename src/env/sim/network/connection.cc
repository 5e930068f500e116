#include <string>
#include <type_traits>

#include "env/sim/network/transfer.h"

namespace tutti::sim {

namespace {

Status gone(const End& end, const char* what) {
  return Status(Code::unavailable, std::string(what) + " " + end.peer.name + ": the connection is gone");
}

// Waits until something has arrived or the connection is over.
struct Arrival : detail::WaitNode {
  explicit Arrival(End& side) : end(side) {}
  End& end;
  bool await_ready() const { return end.first != nullptr || end.lost || end.closed; }
  void await_suspend(std::coroutine_handle<> handle) {
    resume.handle = handle;
    end.receiver.append(*this);
  }
  void await_resume() const {}
};

Task<Result<Frame>> receive_at(LinkRef link, std::size_t side) {
  End& end = link->ends[side];
  if (end.current != nullptr) {
    link->fabric.recycle(*std::exchange(end.current, nullptr));
  }
  co_await Arrival(end);
  if (end.closed || end.first == nullptr) co_return gone(end, "receive from");
  Packet& packet = *end.first;
  end.first = packet.next;
  if (end.first == nullptr) end.last = nullptr;
  end.current = &packet;
  end.unread -= packet.length + kFrameHeader;
  Frame frame;
  frame.type = packet.type;
  frame.id = packet.id;
  frame.payload = {packet.payload.get(), packet.length};
  co_return frame;
}

// The transfer holds the link, so the connection may be destroyed meanwhile. A place at a time.
template <typename Byte>
Task<Status> transfer_at(LinkRef link, std::size_t side, std::uint64_t region, Bytes offset,
                         std::span<const std::span<Byte>> places) {
  constexpr bool kPull = !std::is_const_v<Byte>;
  for (const std::span<Byte> place : places) {
    // A push only reads this memory; Transfer serves both directions with one pointer.
    auto* memory = const_cast<std::byte*>(place.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    TUTTI_CO_TRY(co_await Transfer(*link, side, kPull, region, offset, memory, place.size()));
    offset += Bytes(place.size());
  }
  co_return Status();
}

class SimConnection final : public Connection {
 public:
  SimConnection(LinkRef link, std::size_t side) : link_(std::move(link)), side_(side) {}
  ~SimConnection() override { link_->close(side_); }

  [[nodiscard]] const Peer& peer() const override { return end().peer; }

  Status send(std::uint16_t type, std::uint64_t id, std::span<const std::byte> payload) override {
    if (closed()) return gone(end(), "send to");
    if (payload.size() > kMaxFramePayload) {
      link_->close(side_);
      return Status(Code::too_large, "send to " + end().peer.name + ": a frame of " +
                                         std::to_string(payload.size()) + " bytes is over the limit");
    }
    if (link_->severed) return Status();  // nobody knows yet
    End& far = link_->ends[1 - side_];
    far.unread += payload.size() + kFrameHeader;
    if (far.unread > link_->fabric.options.send_queue_limit.count()) {
      link_->sever(Nanos());
      return Status(Code::unavailable,
                    "send to " + end().peer.name + ": the peer does not read; connection dropped");
    }
    Packet& packet = link_->fabric.take_packet();
    packet.link = link_;
    packet.to = static_cast<std::uint32_t>(1 - side_);
    packet.type = type;
    packet.id = id;
    packet.set_payload(payload);
    packet.launch(*link_, 1 - side_, payload.size() + kFrameHeader);
    return Status();
  }

  Task<Result<Frame>> receive() override { return receive_at(link_, side_); }
  void close() override { link_->close(side_); }
  [[nodiscard]] bool closed() const override { return end().closed || end().lost; }

  std::uint64_t expose(std::span<const Segment> segments, Access access) override {
    End& mine = end();
    if (mine.free_regions.empty()) {
      mine.free_regions.push_back(static_cast<std::uint32_t>(mine.regions.size()));
      mine.regions.emplace_back();
    }
    const std::uint32_t slot = mine.free_regions.back();
    mine.free_regions.pop_back();
    ExposedRegion& region = mine.regions[slot];
    region.live = !closed();
    region.access = access;
    region.segments.assign(segments.begin(), segments.end());
    region.total = 0;
    for (const Segment& segment : segments) region.total += segment.length;
    return std::uint64_t{region.generation} << 32U | slot;
  }

  void withdraw(std::uint64_t id) override {
    End& mine = end();
    const auto slot = static_cast<std::uint32_t>(id);
    if (slot >= mine.regions.size() || mine.regions[slot].generation != id >> 32U) return;
    mine.regions[slot].live = false;
    ++mine.regions[slot].generation;
    mine.free_regions.push_back(slot);
  }

  [[nodiscard]] bool needs_segments() const override { return false; }

  Task<Status> pull(const Region& from, Bytes offset, Places into) override {
    return transfer_at(link_, side_, from.id, offset, into);
  }
  Task<Status> push(ConstPlaces from, const Region& to, Bytes offset) override {
    return transfer_at(link_, side_, to.id, offset, from);
  }
  [[nodiscard]] std::uint64_t moved() const override { return end().moved; }

 private:
  [[nodiscard]] End& end() const { return link_->ends[side_]; }

  LinkRef link_;
  std::size_t side_;
};

}  // namespace

std::unique_ptr<Connection> make_connection(LinkRef link, std::size_t side) {
  return std::make_unique<SimConnection>(std::move(link), side);
}

}  // namespace tutti::sim
