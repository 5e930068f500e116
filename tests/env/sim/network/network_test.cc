#include "env/sim/network/network.h"

#include <cstring>
#include <numeric>

#include "env/combine.h"
#include "tests/env/sim/world.h"

namespace tutti {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string text_of(const Frame& frame) {
  return std::string(reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size());
}

Segment segment_of(std::span<std::byte> memory) {
  return {reinterpret_cast<std::uint64_t>(memory.data()), memory.size()};
}

struct Pair {
  std::unique_ptr<Connection> client;
  std::unique_ptr<Connection> server;
};

Task<Result<Pair>> open_pair(Network& from, Listener& listener, std::string address) {
  Pair pair;
  auto connected = co_await from.connect(address);
  if (!connected.ok()) co_return connected.status();
  auto accepted = co_await listener.accept();
  if (!accepted.ok()) co_return accepted.status();
  pair.client = std::move(*connected);
  pair.server = std::move(*accepted);
  co_return pair;
}

Task<void> timed_pull(Clock& clock, Connection& connection, Region region, std::span<std::byte> into,
                      Nanos& done, Status& status) {
  status = co_await connection.pull(region, Bytes(), into);
  done = clock.now();
}

Task<void> collect(Clock& clock, Connection& connection, std::vector<std::string>& frames, Status& end,
                   Nanos& at) {
  for (;;) {
    auto frame = co_await connection.receive();
    if (!frame.ok()) {
      end = frame.status();
      at = clock.now();
      co_return;
    }
    frames.push_back(text_of(*frame));
  }
}

class SimNetworkTest : public testing::Test {
 protected:
  SimNetworkTest() {
    nic_.bandwidth = 125'000'000;  // 8 ns a byte
    nic_.latency = 50_us;
    nic_.jitter = Nanos();
    nic_.per_message = Nanos();
    for (int i = 0; i < 4; ++i) fabric_.add_node(nic_);
  }
  Pair open(NodeId from, NodeId to) {
    const std::string address = SimNetwork::address(to, "s");
    if (!listeners_[to]) listeners_[to] = std::move(*fabric_.node(to).listen(address));
    return std::move(*run_or_die(simulation_, open_pair(fabric_.node(from), *listeners_[to], address)));
  }

  Simulation simulation_{3};
  SimClock clock_{simulation_};
  NicModel nic_;
  SimNetwork fabric_{simulation_, FabricOptions(), simulation_.random().fork()};
  std::array<std::unique_ptr<Listener>, 4> listeners_;
};

TEST_F(SimNetworkTest, FramesArriveInOrderAfterLatencyAndWireTime) {
  nic_.jitter = 1_ms;
  fabric_.set_nic(0, nic_);
  Pair pair = open(0, 1);
  std::vector<std::string> frames;
  Status end;
  Nanos at;
  Scope scope(simulation_.executor());
  scope.spawn(collect(clock_, *pair.server, frames, end, at));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(pair.client->send(64, 1, bytes_of(std::to_string(i))).ok());
  simulation_.run();
  ASSERT_EQ(frames.size(), 100U);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(frames[i], std::to_string(i));
}

TEST_F(SimNetworkTest, ReceivedFrameHasTypeIdAndPeer) {
  Peer peer;
  peer.uid = 1000;
  peer.name = "alice";
  fabric_.set_peer(0, peer);
  Pair pair = open(0, 1);
  EXPECT_EQ(pair.server->peer().uid, 1000U);
  EXPECT_EQ(pair.client->peer().name, "node 1");
  const Nanos sent = simulation_.now();
  ASSERT_TRUE(pair.client->send(70, 99, bytes_of("hello")).ok());
  const Result<Frame> frame = run_or_die(simulation_, pair.server->receive());
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame->type, 70);
  EXPECT_EQ(frame->id, 99U);
  EXPECT_EQ(text_of(*frame), "hello");
  EXPECT_EQ(simulation_.now() - sent, 50_us + 8_ns * (5 + 32));
}

TEST_F(SimNetworkTest, PullTakesControlLatencyAndWireTimeOnce) {
  Pair pair = open(0, 1);
  std::vector<std::byte> data(1 << 20, std::byte{5});
  std::vector<std::byte> got(1 << 20);
  const std::vector<Segment> segments = {segment_of(std::span(data).first(100)),
                                         segment_of(std::span(data).subspan(100))};
  Region region;
  region.id = pair.client->expose(segments, Access::read);
  const Nanos start = simulation_.now();
  EXPECT_TRUE(run_or_die(simulation_, pair.server->pull(region, Bytes(), got)).ok());
  EXPECT_EQ(got, data);
  // 8.39 ms of wire at 1 Gb/s, two latencies; chunks overlap.
  const Nanos ideal = 8_ns * (1 << 20) + 100_us;
  const Nanos took = simulation_.now() - start;
  EXPECT_GE(took, ideal);
  EXPECT_LE(took, ideal + 10_us);
}

TEST_F(SimNetworkTest, PushFillsTheRegionFromItsOffset) {
  Pair pair = open(0, 1);
  std::vector<std::byte> memory(300'000);
  std::vector<std::byte> data(200'000, std::byte{9});
  const std::vector<Segment> segments = {segment_of(std::span(memory).first(70'000)),
                                         segment_of(std::span(memory).subspan(70'000))};
  Region region;
  region.id = pair.client->expose(segments, Access::write);
  EXPECT_TRUE(run_or_die(simulation_, pair.server->push(data, region, Bytes(50'000))).ok());
  EXPECT_EQ(memory[49'999], std::byte{0});
  EXPECT_EQ(memory[50'000], std::byte{9});
  EXPECT_EQ(memory[249'999], std::byte{9});
  EXPECT_EQ(memory[250'000], std::byte{0});
}

TEST_F(SimNetworkTest, BadRegionsAreRefused) {
  Pair pair = open(0, 1);
  std::vector<std::byte> memory(1000);
  const std::vector<Segment> segments = {segment_of(memory)};
  Region region;
  region.id = pair.client->expose(segments, Access::write);
  std::vector<std::byte> buffer(1000);
  EXPECT_EQ(run_or_die(simulation_, pair.server->pull(region, Bytes(), buffer)).code(), Code::permission);
  EXPECT_EQ(run_or_die(simulation_, pair.server->push(buffer, region, Bytes(1))).code(), Code::invalid);
  pair.client->withdraw(region.id);
  EXPECT_EQ(run_or_die(simulation_, pair.server->push(buffer, region, Bytes())).code(), Code::unavailable);
  region.id = pair.client->expose(segments, Access::read);
  region.id += 1;
  EXPECT_EQ(run_or_die(simulation_, pair.server->pull(region, Bytes(), buffer)).code(), Code::unavailable);
}

TEST_F(SimNetworkTest, RegionWithdrawnDuringAPullIsNotTouchedAgain) {
  Pair pair = open(0, 1);
  auto data = std::make_unique<std::vector<std::byte>>(1 << 20);
  std::vector<std::byte> got(1 << 20);
  const std::vector<Segment> segments = {segment_of(*data)};
  Region region;
  region.id = pair.client->expose(segments, Access::read);
  Nanos done;
  Status status;
  Scope scope(simulation_.executor());
  scope.spawn(timed_pull(clock_, *pair.server, region, got, done, status));
  simulation_.run_until(simulation_.now() + 3_ms);
  pair.client->withdraw(region.id);
  data.reset();
  simulation_.run();
  EXPECT_EQ(status.code(), Code::unavailable);
}

TEST_F(SimNetworkTest, FlowsShareACardFairly) {
  constexpr std::size_t kSize = 4 << 20;
  std::vector<std::byte> data(kSize);
  std::vector<Pair> pairs;
  std::vector<Nanos> done(3);
  std::vector<Status> status(3);
  std::vector<std::vector<std::byte>> got(3, std::vector<std::byte>(kSize));
  for (NodeId i = 0; i < 3; ++i) pairs.push_back(open(i, 3));
  const std::vector<Segment> segments = {segment_of(data)};
  const Nanos start = simulation_.now();
  Scope scope(simulation_.executor());
  for (std::size_t i = 0; i < 3; ++i) {
    Region region;
    region.id = pairs[i].client->expose(segments, Access::read);
    scope.spawn(timed_pull(clock_, *pairs[i].server, region, got[i], done[i], status[i]));
  }
  simulation_.run();
  const double alone = 8e-9 * static_cast<double>(kSize);
  for (const Nanos each : done) EXPECT_NEAR((each - start).seconds(), 3 * alone, 0.03 * alone);
}

TEST_F(SimNetworkTest, SendersToDifferentNodesDoNotDisturbEachOther) {
  constexpr std::size_t kSize = 4 << 20;
  std::vector<std::byte> data(kSize);
  std::vector<Pair> pairs;
  pairs.push_back(open(0, 1));
  pairs.push_back(open(2, 3));
  std::vector<Nanos> done(2);
  std::vector<Status> status(2);
  std::vector<std::vector<std::byte>> got(2, std::vector<std::byte>(kSize));
  const std::vector<Segment> segments = {segment_of(data)};
  const Nanos start = simulation_.now();
  Scope scope(simulation_.executor());
  for (std::size_t i = 0; i < 2; ++i) {
    Region region;
    region.id = pairs[i].client->expose(segments, Access::read);
    scope.spawn(timed_pull(clock_, *pairs[i].server, region, got[i], done[i], status[i]));
  }
  simulation_.run();
  const double alone = 8e-9 * static_cast<double>(kSize);
  for (const Nanos each : done) EXPECT_NEAR((each - start).seconds(), alone, 0.01 * alone);
}

TEST_F(SimNetworkTest, SmallMessageWaitsOnlyForAFewChunksOfABulkTransfer) {
  Pair pair = open(0, 1);
  std::vector<std::byte> data(16 << 20);
  std::vector<std::byte> got(16 << 20);
  const std::vector<Segment> segments = {segment_of(data)};
  Region region;
  region.id = pair.client->expose(segments, Access::read);
  Nanos done;
  Status status;
  Scope scope(simulation_.executor());
  scope.spawn(timed_pull(clock_, *pair.server, region, got, done, status));
  simulation_.run_until(simulation_.now() + 10_ms);
  const Nanos sent = simulation_.now();
  ASSERT_TRUE(pair.client->send(64, 1, bytes_of("urgent")).ok());
  ASSERT_TRUE(run_or_die(simulation_, pair.server->receive()).ok());
  EXPECT_LT(simulation_.now() - sent, 3_ms);
}

TEST_F(SimNetworkTest, PhantomDataCostsTimeButCopiesNothing) {
  fabric_.set_phantom_data(true);
  Pair pair = open(0, 1);
  std::vector<std::byte> data(1 << 20, std::byte{5});
  std::vector<std::byte> got(1 << 20);
  const std::vector<Segment> segments = {segment_of(data)};
  Region region;
  region.id = pair.client->expose(segments, Access::read);
  const Nanos start = simulation_.now();
  EXPECT_TRUE(run_or_die(simulation_, pair.server->pull(region, Bytes(), got)).ok());
  EXPECT_GE(simulation_.now() - start, 8_ns * (1 << 20));
  EXPECT_EQ(got[0], std::byte{0});
}

TEST_F(SimNetworkTest, CloseDeliversWhatWasSentThenEndsThePeer) {
  Pair pair = open(0, 1);
  std::vector<std::string> frames;
  Status end;
  Nanos at;
  Scope scope(simulation_.executor());
  scope.spawn(collect(clock_, *pair.server, frames, end, at));
  ASSERT_TRUE(pair.client->send(64, 1, bytes_of("last words")).ok());
  pair.client->close();
  EXPECT_TRUE(pair.client->closed());
  EXPECT_EQ(pair.client->send(64, 2, {}).code(), Code::unavailable);
  EXPECT_FALSE(pair.server->closed());
  simulation_.run();
  EXPECT_EQ(frames, std::vector<std::string>{"last words"});
  EXPECT_EQ(end.code(), Code::unavailable);
  EXPECT_TRUE(pair.server->closed());
}

TEST_F(SimNetworkTest, DestroyedConnectionEndsItsOwnWaitersAndTransfers) {
  Pair pair = open(0, 1);
  std::vector<std::byte> data(1 << 20);
  std::vector<std::byte> got(1 << 20);
  const std::vector<Segment> segments = {segment_of(data)};
  Region region;
  region.id = pair.client->expose(segments, Access::read);
  std::vector<std::string> frames;
  Status end;
  Status pulled;
  Nanos at;
  Scope scope(simulation_.executor());
  scope.spawn(collect(clock_, *pair.server, frames, end, at));
  scope.spawn(timed_pull(clock_, *pair.server, region, got, at, pulled));
  simulation_.run_until(simulation_.now() + 1_ms);
  pair.server.reset();
  simulation_.run();
  EXPECT_EQ(end.code(), Code::unavailable);
  EXPECT_EQ(pulled.code(), Code::unavailable);
  EXPECT_TRUE(pair.client->closed());
}

TEST_F(SimNetworkTest, CutLosesFramesAndIsDetectedAtBothEndsAndHealAllowsANewConnection) {
  Pair pair = open(0, 1);
  std::vector<std::string> frames;
  std::array<Status, 2> end;
  std::array<Nanos, 2> at;
  Scope scope(simulation_.executor());
  scope.spawn(collect(clock_, *pair.client, frames, end[0], at[0]));
  scope.spawn(collect(clock_, *pair.server, frames, end[1], at[1]));
  simulation_.run_until(1_s);
  ASSERT_TRUE(pair.client->send(64, 1, bytes_of("lost")).ok());
  fabric_.cut(0, 1);
  EXPECT_TRUE(pair.client->send(64, 2, bytes_of("lost too")).ok());
  const auto refused = run_or_die(simulation_, fabric_.node(0).connect(SimNetwork::address(1, "s")));
  EXPECT_EQ(refused.code(), Code::unavailable);
  EXPECT_EQ(simulation_.now(), 2_s);
  simulation_.run();
  EXPECT_TRUE(frames.empty());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(end[i].code(), Code::unavailable);
    EXPECT_EQ(at[i], 3_s);
  }
  fabric_.heal(0, 1);
  const Pair again = open(0, 1);
  EXPECT_FALSE(again.client->closed());
}

TEST_F(SimNetworkTest, NodeThatGoesDownResetsItsConnectionsAndBreaksItsListeners) {
  Pair pair = open(0, 1);
  std::vector<std::string> frames;
  Status end;
  Nanos at;
  Scope scope(simulation_.executor());
  scope.spawn(collect(clock_, *pair.client, frames, end, at));
  simulation_.run_until(1_s);
  fabric_.down(1);
  simulation_.run();
  EXPECT_EQ(end.code(), Code::unavailable);
  EXPECT_EQ(at, 1_s);
  EXPECT_EQ(run_or_die(simulation_, listeners_[1]->accept()).code(), Code::unavailable);
  EXPECT_EQ(run_or_die(simulation_, fabric_.node(0).connect("sim:1/s")).code(), Code::unavailable);
  EXPECT_EQ(simulation_.now(), 2_s);
  fabric_.up(1);
  listeners_[1].reset();
  EXPECT_FALSE(open(0, 1).client->closed());
}

TEST_F(SimNetworkTest, SlowAndDelayedPathsTakeLonger) {
  Pair pair = open(0, 1);
  std::vector<std::byte> data(1 << 20);
  std::vector<std::byte> got(1 << 20);
  const std::vector<Segment> segments = {segment_of(data)};
  Region region;
  region.id = pair.client->expose(segments, Access::read);
  fabric_.slow(0, 1, 4.0);
  fabric_.delay(0, 1, 10_ms);
  const Nanos start = simulation_.now();
  EXPECT_TRUE(run_or_die(simulation_, pair.server->pull(region, Bytes(), got)).ok());
  EXPECT_GE(simulation_.now() - start, 8_ns * (1 << 20) * 4 + 20_ms);
}

TEST_F(SimNetworkTest, ConnectToNobodyIsRefusedAndBadAddressesAreNamed) {
  EXPECT_EQ(run_or_die(simulation_, fabric_.node(0).connect("sim:1/none")).code(), Code::unavailable);
  for (const char* bad : {"unix:/x", "sim:", "sim:1", "sim:/x", "sim:1/", "sim:x/y", "sim:99/x"}) {
    EXPECT_EQ(run_or_die(simulation_, fabric_.node(0).connect(bad)).code(), Code::invalid) << bad;
  }
  EXPECT_EQ(fabric_.node(0).listen("sim:1/x").code(), Code::invalid);
  const auto listener = fabric_.node(1).listen("sim:1/x");
  EXPECT_EQ(fabric_.node(1).listen("sim:1/x").code(), Code::exists);
}

TEST_F(SimNetworkTest, PeerThatDoesNotReadLosesTheConnection) {
  Pair pair = open(0, 1);
  const std::vector<std::byte> megabyte(kMaxFramePayload);
  Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = pair.client->send(64, 1, megabyte);
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_TRUE(pair.client->closed());
  Pair other = open(0, 1);
  const std::vector<std::byte> too_large(kMaxFramePayload + 1);
  EXPECT_EQ(other.client->send(64, 1, too_large).code(), Code::too_large);
  EXPECT_TRUE(other.client->closed());
}

TEST_F(SimNetworkTest, LoopbackCostsTheCardNothing) {
  Pair pair = open(2, 2);
  ASSERT_TRUE(pair.client->send(64, 1, bytes_of("to myself")).ok());
  ASSERT_TRUE(run_or_die(simulation_, pair.server->receive()).ok());
  EXPECT_EQ(fabric_.traffic(2).messages_sent, 0U);
}

Task<void> ping(Connection& connection, int count) {
  for (int i = 0; i < count; ++i) {
    if (!connection.send(64, static_cast<std::uint64_t>(i), bytes_of("ping")).ok()) co_return;
    if (!(co_await connection.receive()).ok()) co_return;
  }
}

Task<void> pong(Connection& connection) {
  for (;;) {
    auto frame = co_await connection.receive();
    if (!frame.ok() || !connection.send(65, frame->id, frame->payload).ok()) co_return;
  }
}

TEST(SimNetworkDeterminism, SameSeedGivesTheSameTrace) {
  const auto trace = [](std::uint64_t seed) {
    Simulation simulation(seed);
    SimNetwork fabric(simulation, FabricOptions(), simulation.random().fork());
    for (int i = 0; i < 5; ++i) fabric.add_node();
    const auto listener = std::move(*fabric.node(0).listen("sim:0/s"));
    std::vector<Pair> pairs;
    for (NodeId i = 1; i < 5; ++i) {
      pairs.push_back(std::move(*run_or_die(simulation, open_pair(fabric.node(i), *listener, "sim:0/s"))));
    }
    Scope scope(simulation.executor());
    for (Pair& pair : pairs) {
      scope.spawn(ping(*pair.client, 200));
      scope.spawn(pong(*pair.server));
    }
    simulation.run_until(50_ms);
    fabric.cut(0, 2);
    simulation.run();
    return simulation.trace();
  };
  EXPECT_EQ(trace(1), trace(1));
  EXPECT_NE(trace(1), trace(2));
}

}  // namespace
}  // namespace tutti
