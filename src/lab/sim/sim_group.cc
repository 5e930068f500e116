#include "lab/sim/sim_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "env/combine.h"

namespace tutti {
namespace {

constexpr std::uint16_t kHello = kFirstUserFrameType;
constexpr std::uint16_t kBytes = kFirstUserFrameType + 1;
constexpr std::uint16_t kOffer = kFirstUserFrameType + 2;  // a long message waits; where it is
constexpr std::uint16_t kGrant = kFirstUserFrameType + 3;  // there is a place for it
constexpr std::uint16_t kMoved = kFirstUserFrameType + 4;  // it is there

// A long message at its sender's.
struct Offer {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
};

std::int64_t reduced(Reduce reduce, std::int64_t a, std::int64_t b) {
  switch (reduce) {
    case Reduce::max:
      return std::max(a, b);
    case Reduce::min:
      return std::min(a, b);
    case Reduce::sum:
      return a + b;
    case Reduce::bit_or:
      return a | b;
  }
  return a;
}

}  // namespace

Result<std::unique_ptr<SimGroup>> SimGroup::create(Executor& executor, std::unique_ptr<Network> network,
                                                   std::vector<std::string> addresses, int rank) {
  std::unique_ptr<SimGroup> group(new SimGroup(executor, std::move(network), std::move(addresses), rank));
  auto listener = group->network_->listen(group->addresses_.at(static_cast<std::size_t>(rank)));
  if (!listener.ok()) return listener.status().with_context(fmt::format("rank {}", rank));
  group->scope_.spawn(group->accept(std::move(*listener)));
  return group;
}

Result<std::vector<std::unique_ptr<SimGroup>>> SimGroup::create_all(SimCluster& cluster,
                                                                    const std::vector<std::uint32_t>& nodes,
                                                                    const std::string& name) {
  std::vector<std::string> addresses;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    addresses.push_back(
        SimNetwork::address(cluster.client_node(nodes[rank]), fmt::format("{}.{}", name, rank)));
  }
  std::vector<std::unique_ptr<SimGroup>> groups;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    Peer peer;
    peer.name = fmt::format("{}.{}", name, rank);
    auto network = cluster.fabric().process(cluster.client_node(nodes[rank]), peer, true);
    auto made =
        create(cluster.simulation().executor(), std::move(network), addresses, static_cast<int>(rank));
    if (!made.ok()) return made.status();
    groups.push_back(std::move(*made));
  }
  return groups;
}

SimGroup::SimGroup(Executor& executor, std::unique_ptr<Network> network, std::vector<std::string> addresses,
                   int rank)
    : executor_(executor),
      network_(std::move(network)),
      addresses_(std::move(addresses)),
      rank_(rank),
      scope_(executor) {
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    out_.push_back(std::make_unique<Outbox>(executor));
    in_.push_back(std::make_unique<Inbox>(executor));
  }
}

SimGroup::~SimGroup() { scope_.cancel(); }

Task<void> SimGroup::accept(std::unique_ptr<Listener> listener) {
  for (;;) {
    auto connection = co_await listener->accept();
    if (!connection.ok()) co_return;
    scope_.spawn(read_from(std::move(*connection)));
  }
}

Task<void> SimGroup::read_from(std::unique_ptr<Connection> connection) {
  auto hello = co_await connection->receive();
  std::int32_t from = -1;
  if (!hello.ok() || hello->type != kHello || hello->payload.size() != sizeof(from)) co_return;
  std::memcpy(&from, hello->payload.data(), sizeof(from));
  if (from < 0 || from >= size()) co_return;
  Inbox& inbox = *in_[static_cast<std::size_t>(from)];
  inbox.connection = std::move(connection);
  for (;;) {
    auto frame = co_await inbox.connection->receive();
    if (!frame.ok()) {
      inbox.broken = Status(Code::unavailable, fmt::format("rank {} is gone", from));
      inbox.arrived.set();
      co_return;
    }
    inbox.items.push_back({frame->type, {frame->payload.begin(), frame->payload.end()}});
    inbox.arrived.set();
  }
}

Task<void> SimGroup::read_grants(Outbox& outbox) {
  for (;;) {
    auto frame = co_await outbox.connection->receive();
    if (!frame.ok()) {
      outbox.broken = frame.status();
      outbox.granted.set();
      co_return;
    }
    outbox.regions.push_back(frame->id);
    outbox.granted.set();
  }
}

Task<Status> SimGroup::connect(int to) {
  Outbox& outbox = *out_[static_cast<std::size_t>(to)];
  auto made = co_await network_->connect(addresses_[static_cast<std::size_t>(to)]);
  if (!made.ok()) co_return made.status().with_context(fmt::format("rank {}", to));
  outbox.connection = std::move(*made);
  scope_.spawn(read_grants(outbox));
  const std::int32_t self = rank_;
  co_return outbox.connection->send(kHello, 0, std::as_bytes(std::span(&self, 1)));
}

Task<Status> SimGroup::send(int to, std::span<const std::byte> bytes) {
  Outbox& outbox = *out_[static_cast<std::size_t>(to)];
  if (outbox.connection == nullptr) TUTTI_CO_TRY(co_await connect(to));
  if (bytes.size() <= kEager) co_return outbox.connection->send(kBytes, 0, bytes);
  co_return co_await send_long(outbox, bytes);
}

Task<Status> SimGroup::send_long(Outbox& outbox, std::span<const std::byte> bytes) {
  const Offer offer{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
  TUTTI_CO_TRY(outbox.connection->send(kOffer, 0, std::as_bytes(std::span(&offer, 1))));
  while (outbox.regions.empty()) {
    if (!outbox.broken.ok()) co_return outbox.broken;
    outbox.granted.reset();
    co_await outbox.granted.wait();
  }
  Region region;
  region.id = outbox.regions.front();
  outbox.regions.pop_front();
  TUTTI_CO_TRY(co_await outbox.connection->push(bytes, region, 0_B));
  co_return outbox.connection->send(kMoved, 0, {});
}

Task<Status> SimGroup::next_item(Inbox& inbox) {
  while (inbox.items.empty()) {
    if (!inbox.broken.ok()) co_return inbox.broken;
    inbox.arrived.reset();
    co_await inbox.arrived.wait();
  }
  co_return Status();
}

// The fabric may only charge for bulk data; what ranks tell each other has to arrive all the same, so it is copied here,
// while its sender waits.
Task<Status> SimGroup::receive_long(Inbox& inbox, int from, std::span<std::byte> bytes) {
  Offer offer;
  std::memcpy(&offer, inbox.items.front().bytes.data(), sizeof(offer));
  inbox.items.pop_front();
  if (offer.length != bytes.size())
    co_return Status(Code::internal,
                     fmt::format("rank {} sends {} bytes, expected {}", from, offer.length, bytes.size()));
  const auto* source =
      reinterpret_cast<const std::byte*>(offer.address);  // NOLINT(performance-no-int-to-ptr)
  if (source != bytes.data()) std::memmove(bytes.data(), source, bytes.size());
  const Segment place{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
  const std::uint64_t region = inbox.connection->expose(only(place), Access::write);
  Status status = inbox.connection->send(kGrant, region, {});
  if (status.ok()) status = co_await next_item(inbox);
  if (status.ok()) inbox.items.pop_front();  // it has moved
  inbox.connection->withdraw(region);
  co_return status;
}

Task<Status> SimGroup::receive(int from, std::span<std::byte> bytes) {
  Inbox& inbox = *in_[static_cast<std::size_t>(from)];
  if (bytes.size() > kEager) {
    TUTTI_CO_TRY(co_await next_item(inbox));
    co_return co_await receive_long(inbox, from, bytes);
  }
  while (!bytes.empty()) {
    TUTTI_CO_TRY(co_await next_item(inbox));
    const auto& item = inbox.items.front().bytes;
    const std::size_t step = std::min(bytes.size(), item.size() - inbox.taken);
    std::memcpy(bytes.data(), item.data() + inbox.taken, step);
    bytes = bytes.subspan(step);
    inbox.taken += step;
    if (inbox.taken == item.size()) {
      inbox.items.pop_front();
      inbox.taken = 0;
    }
  }
  co_return Status();
}

Task<Status> SimGroup::exchange(std::span<const Outgoing> send_list, std::span<const Incoming> receive_list) {
  std::vector<Task<Status>> tasks;
  for (const Outgoing& out : send_list) tasks.push_back(send(out.to, out.bytes));
  for (const Incoming& in : receive_list) tasks.push_back(receive(in.from, in.bytes));
  for (Status& status : co_await when_all(std::move(tasks))) {
    if (!status.ok()) co_return std::move(status);
  }
  co_return Status();
}

Task<Status> SimGroup::barrier() {
  const std::byte token{1};
  std::byte other{};
  for (int distance = 1; distance < size(); distance *= 2) {
    TUTTI_CO_TRY(co_await send(neighbour(distance), {&token, 1}));
    TUTTI_CO_TRY(co_await receive(neighbour(-distance), {&other, 1}));
  }
  co_return Status();
}

// A binomial tree, as if the root were rank 0.
Task<Status> SimGroup::broadcast(int root, std::span<std::byte> bytes) {
  const int self = (rank_ - root + size()) % size();
  int distance = 1;
  while (distance < size() && (self & distance) == 0) distance *= 2;
  if (self != 0) TUTTI_CO_TRY(co_await receive((self - distance + root) % size(), bytes));
  for (distance /= 2; distance > 0; distance /= 2) {
    if (self + distance < size()) TUTTI_CO_TRY(co_await send((self + distance + root) % size(), bytes));
  }
  co_return Status();
}

// Bruck's: in step k everybody has the parts of 2^k ranks, and passes them on.
Task<Status> SimGroup::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const auto ranks = static_cast<std::size_t>(size());
  const std::size_t part = mine.size();
  std::vector<std::byte> own_first(part * ranks);
  std::copy(mine.begin(), mine.end(), own_first.begin());
  for (std::size_t have = 1; have < ranks; have *= 2) {
    const std::size_t step = std::min(have, ranks - have);
    const auto distance = static_cast<int>(have);
    const Outgoing out{neighbour(-distance), std::span(own_first).first(step * part)};
    const Incoming in{neighbour(distance), std::span(own_first).subspan(have * part, step * part)};
    TUTTI_CO_TRY(co_await exchange(only(out), only(in)));
  }
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::size_t rank = (static_cast<std::size_t>(rank_) + i) % ranks;
    std::copy_n(own_first.begin() + static_cast<std::ptrdiff_t>(i * part), part,
                all.begin() + static_cast<std::ptrdiff_t>(rank * part));
  }
  co_return Status();
}

Task<Status> SimGroup::allreduce(Reduce reduce, std::span<std::int64_t> values) {
  std::vector<std::int64_t> all(values.size() * addresses_.size());
  TUTTI_CO_TRY(co_await allgather(std::as_bytes(values), std::as_writable_bytes(std::span(all))));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = all[i];
    for (std::size_t rank = 1; rank < addresses_.size(); ++rank) {
      values[i] = reduced(reduce, values[i], all[rank * values.size() + i]);
    }
  }
  co_return Status();
}

}  // namespace tutti
