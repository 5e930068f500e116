// How fast the simulator itself is: a load like that of servers and clients, counted in executor events.
// Prints; not part of the test run, since the figure depends on the machine.
#include <cstdio>
#include <ctime>

#include "env/combine.h"
#include "env/sim/device/hdd.h"
#include "env/sim/network/network.h"
#include "env/sim/store/device_store.h"
#include "env/sim/store/memory_store.h"
#include "tests/env/sim/world.h"

namespace tutti {
namespace {

constexpr NodeId kServers = 16;
constexpr NodeId kClients = 64;
constexpr std::uint64_t kPiece = 64U << 10U;

// Pulls the bytes of a write from the client.
class PullSource : public Source {
 public:
  PullSource(Connection& connection, std::uint64_t region) : connection_(connection) { region_.id = region; }
  Task<Status> fill(Bytes at, Places places) override { return connection_.pull(region_, at, places); }

 private:
  Connection& connection_;
  Region region_;
};

Task<void> serve(std::unique_ptr<Connection> connection, Store& store, ObjectId object) {
  Bytes offset;
  for (;;) {
    const Result<Frame> frame = co_await connection->receive();
    if (!frame.ok()) co_return;
    PullSource source(*connection, frame->id);
    const Status status = co_await store.write(object, offset, Bytes(kPiece), source);
    offset += Bytes(kPiece);
    if (!status.ok() || !connection->send(65, frame->id, {}).ok()) co_return;
  }
}

Task<void> accept_all(Listener& listener, Store& store, Scope& scope) {
  for (std::uint64_t i = 0;; ++i) {
    auto connection = co_await listener.accept();
    if (!connection.ok()) co_return;
    scope.spawn(serve(std::move(*connection), store, ObjectId{i}));
  }
}

Task<void> client(Network& network, int rounds) {
  std::vector<std::unique_ptr<Connection>> servers;
  for (NodeId i = 0; i < kServers; ++i) {
    auto connection = co_await network.connect(SimNetwork::address(i, "data"));
    if (!connection.ok()) co_return;
    servers.push_back(std::move(*connection));
  }
  std::vector<std::byte> memory(kPiece);
  const std::vector<Segment> segments = {{reinterpret_cast<std::uint64_t>(memory.data()), memory.size()}};
  for (int i = 0; i < rounds; ++i) {
    for (auto& server : servers) {
      const std::uint64_t region = server->expose(segments, Access::read);
      if (!server->send(64, region, {}).ok()) co_return;
    }
    for (auto& server : servers) {
      const Result<Frame> reply = co_await server->receive();
      if (!reply.ok()) co_return;
      server->withdraw(reply->id);
    }
  }
}

TEST(SimulatorSpeed, RunsManyEventsPerSecond) {
  Simulation simulation(1);
  FabricOptions fabric_options;
  fabric_options.phantom_data = true;
  SimNetwork fabric(simulation, fabric_options, simulation.random().fork());
  SimClock clock(simulation);
  MemoryStoreOptions memory_options;
  memory_options.phantom = true;
  std::vector<std::unique_ptr<MemoryStore>> memories;
  std::vector<std::unique_ptr<DeviceStore>> stores;
  std::vector<std::unique_ptr<Listener>> listeners;
  Scope scope(simulation.executor());
  for (NodeId i = 0; i < kServers; ++i) {
    fabric.add_node();
    memories.push_back(std::make_unique<MemoryStore>(memory_options));
    stores.push_back(std::make_unique<DeviceStore>(clock, *memories.back(), std::make_unique<HddModel>(),
                                                   *make_io_scheduler("anticipatory")));
    listeners.push_back(std::move(*fabric.node(i).listen(SimNetwork::address(i, "data"))));
    scope.spawn(accept_all(*listeners.back(), *stores.back(), scope));
  }
  Scope running(simulation.executor());
  for (NodeId i = 0; i < kClients; ++i) running.spawn(client(fabric.node(fabric.add_node()), 500));
  const std::clock_t start = std::clock();
  EXPECT_TRUE(simulation.run_until([&] { return running.size() == 0; }));
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const double rate = static_cast<double>(simulation.events()) / seconds;
  std::printf(
      "%.0f events in %.3f s of processor time: %.2f million per second, %.3f s of virtual time, trace "
      "%016llx\n",
      static_cast<double>(simulation.events()), seconds, rate / 1e6, simulation.now().seconds(),
      static_cast<unsigned long long>(simulation.trace()));
}

}  // namespace
}  // namespace tutti
