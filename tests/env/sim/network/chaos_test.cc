// Seeded disorder: operations cancelled at any moment, paths cut, nodes down. What must hold: nothing hangs,
// no memory is touched after its time (the sanitizers watch), bytes that were acknowledged are there, and a
// seed repeats to the event.
#include "env/combine.h"
#include "env/sim/device/hdd.h"
#include "env/sim/network/network.h"
#include "env/sim/store/device_store.h"
#include "env/sim/store/memory_store.h"
#include "tests/env/conformance/store_helpers.h"
#include "tests/env/sim/world.h"

namespace tutti {
namespace {

Task<void> serve(std::unique_ptr<Connection> connection, Clock& clock, Random random) {
  std::vector<std::byte> buffer(200'000);
  for (;;) {
    const Result<Frame> frame = co_await connection->receive();
    if (!frame.ok()) co_return;
    Region region;
    region.id = frame->id;
    const std::size_t length = random.below(buffer.size());
    const Nanos patience = Nanos(static_cast<std::int64_t>(random.below(10'000'000)));
    const std::span<std::byte> piece(buffer.data(), length);
    Task<Status> move = random.chance(0.5) ? connection->pull(region, Bytes(), piece)
                                           : connection->push(piece, region, Bytes());
    const Status moved = co_await with_timeout(clock, patience, std::move(move), "move");
    if (moved.code() == Code::invalid) ADD_FAILURE() << moved.to_string();
    if (!connection->send(65, frame->id, {}).ok()) co_return;
  }
}

Task<void> accept_all(Listener& listener, Clock& clock, Scope& scope, Random random) {
  for (;;) {
    auto connection = co_await listener.accept();
    if (!connection.ok()) co_return;
    scope.spawn(serve(std::move(*connection), clock, random.fork()));
  }
}

Task<Status> one_call(Connection& connection, std::uint64_t region) {
  TUTTI_CO_TRY(connection.send(64, region, {}));
  co_return (co_await connection.receive()).status();
}

Task<void> client(Network& network, Clock& clock, Random random, int& ended) {
  for (int session = 0; session < 10; ++session) {
    auto connection = co_await with_timeout(clock, 3_s, network.connect("sim:0/chaos"), "connect");
    if (!connection.ok()) continue;
    for (int i = 0; i < 10; ++i) {
      // Freed right after the call: a late transfer into it would be seen.
      std::vector<std::byte> memory(200'000);
      const std::vector<Segment> segments = {{reinterpret_cast<std::uint64_t>(memory.data()), memory.size()}};
      const std::uint64_t region =
          (*connection)->expose(segments, random.chance(0.5) ? Access::read : Access::write);
      const Nanos patience = Nanos(static_cast<std::int64_t>(random.below(20'000'000)));
      const Status status = co_await with_timeout(clock, patience, one_call(**connection, region), "call");
      (*connection)->withdraw(region);
      if (!status.ok()) break;
    }
  }
  ++ended;
}

std::uint64_t network_chaos(std::uint64_t seed) {
  constexpr NodeId kClients = 6;
  Simulation simulation(seed);
  SimClock clock(simulation);
  FabricOptions options;
  options.detection_delay = 50_ms;
  options.connect_timeout = 20_ms;
  SimNetwork fabric(simulation, options, simulation.random().fork());
  for (NodeId i = 0; i <= kClients; ++i) fabric.add_node();
  std::unique_ptr<Listener> listener;
  Scope servers(simulation.executor());
  const auto start_server = [&] {
    listener = std::move(*fabric.node(0).listen("sim:0/chaos"));
    servers.spawn(accept_all(*listener, clock, servers, simulation.random().fork()));
  };
  start_server();
  int ended = 0;
  Scope clients(simulation.executor());
  for (NodeId i = 1; i <= kClients; ++i) {
    clients.spawn(client(fabric.node(i), clock, simulation.random().fork(), ended));
  }
  Random& random = simulation.random();
  for (int i = 0; i < 30; ++i) {
    simulation.run_until(simulation.now() + random.exponential(20_ms));
    const auto victim = static_cast<NodeId>(1 + random.below(kClients));
    switch (random.below(5)) {
      case 0:
        fabric.cut(0, victim);
        break;
      case 1:
        fabric.heal(0, victim);
        break;
      case 2:
        fabric.slow(0, victim, 1 + 3 * random.unit());
        break;
      case 3:
        fabric.delay(0, victim, random.exponential(1_ms));
        break;
      default:
        fabric.down(0);
        servers.cancel();
        listener.reset();
        fabric.up(0);
        start_server();
    }
  }
  for (NodeId i = 1; i <= kClients; ++i) fabric.heal(0, i);
  EXPECT_TRUE(simulation.run_until([&] { return clients.size() == 0; })) << "seed " << seed;
  EXPECT_EQ(ended, static_cast<int>(kClients));
  return simulation.trace();
}

TEST(Chaos, NetworkSurvivesCutsCrashesAndCancellations) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) network_chaos(seed);
  EXPECT_EQ(network_chaos(3), network_chaos(3));
}

using conformance::pattern;
using conformance::read_bytes;
using conformance::write_bytes;

// One object's user: knows which bytes it must hold. A cancelled write leaves its range unknown.
struct Owner {
  std::vector<std::byte> bytes;
  std::vector<bool> unknown;

  void resize(std::size_t length) {
    bytes.resize(length);
    unknown.resize(length);
  }
  void check(std::size_t offset, const std::vector<std::byte>& got) const {
    for (std::size_t i = 0; i < got.size() && offset + i < bytes.size(); ++i) {
      if (!unknown[offset + i]) {
        ASSERT_EQ(got[i], bytes[offset + i]) << "at " << offset + i;
      }
    }
  }
};

Task<void> one_write(Store& store, Clock& clock, ObjectId object, Random& random, Owner& owner) {
  const std::size_t offset = random.below(300'000);
  const auto data = pattern(1 + random.below(100'000), random.next());
  if (owner.bytes.size() < offset + data.size()) owner.resize(offset + data.size());
  const Nanos patience = Nanos(static_cast<std::int64_t>(random.below(40'000'000)));
  const Status status =
      co_await with_timeout(clock, patience, write_bytes(store, object, Bytes(offset), data), "write");
  std::copy(data.begin(), data.end(), owner.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  for (std::size_t i = offset; i < offset + data.size(); ++i) owner.unknown[i] = !status.ok();
}

Task<void> one_read(Store& store, Clock& clock, ObjectId object, Random& random, const Owner& owner) {
  const std::size_t offset = random.below(400'000);
  const Nanos patience = Nanos(static_cast<std::int64_t>(random.below(40'000'000)));
  const auto got =
      co_await with_timeout(clock, patience, read_bytes(store, object, Bytes(offset), 64_KiB), "read");
  if (got.ok()) owner.check(offset, *got);
}

Task<void> use_object(Store& store, Clock& clock, ObjectId object, Random random) {
  Owner owner;
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t kind = random.below(10);
    if (kind < 4) co_await one_write(store, clock, object, random, owner);
    if (kind >= 4 && kind < 8) co_await one_read(store, clock, object, random, owner);
    if (kind == 8) {
      EXPECT_TRUE((co_await with_timeout(clock, 10_s, store.sync(object), "sync")).ok());
    }
    if (kind == 9 && random.chance(0.5)) {
      EXPECT_TRUE((co_await store.remove(object)).ok());
      owner = Owner();
    }
  }
}

std::uint64_t store_chaos(std::uint64_t seed, const char* scheduler) {
  Simulation simulation(seed);
  SimClock clock(simulation);
  MemoryStore memory;
  DeviceStoreOptions options;
  options.cache.size = 2_MiB;
  options.placement.extent = 100_KiB;
  options.largest_request = 64_KiB;
  DeviceStore store(clock, memory, std::make_unique<HddModel>(), *make_io_scheduler(scheduler), options);
  Scope users(simulation.executor());
  for (std::uint64_t i = 0; i < 8; ++i) {
    users.spawn(use_object(store, clock, ObjectId{i}, simulation.random().fork()));
  }
  EXPECT_TRUE(simulation.run_until([&] { return users.size() == 0; })) << "seed " << seed;
  simulation.run();
  EXPECT_EQ(store.cache().dirty(), Bytes());
  return simulation.trace();
}

TEST(Chaos, DeviceStoreSurvivesCancellationsAndKeepsBytes) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const char* scheduler : {"none", "deadline", "anticipatory"}) store_chaos(seed, scheduler);
  }
  EXPECT_EQ(store_chaos(2, "anticipatory"), store_chaos(2, "anticipatory"));
}

}  // namespace
}  // namespace tutti
