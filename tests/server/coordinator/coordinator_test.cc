// The coordinator and its sessions with the data servers of a simulated cluster.
#include <gtest/gtest.h>

#include "tests/client/cluster_fixture.h"
#include "tests/policy/listening_policy.h"

namespace tutti {
namespace {

class CoordinatorTest : public ClusterTest {
 protected:
  static SimClusterOptions coordinated(bool alone = false) {
    SimClusterOptions options;
    options.servers = 3;
    options.coordinated = true;
    options.coordinator_alone = alone;
    return options;
  }
  void begin(SimClusterOptions options) {
    start(std::move(options));
    pass(100_ms);
  }
  [[nodiscard]] Nanos now() { return cluster_->simulation().now(); }
  [[nodiscard]] Nanos wall() { return Simulation::kWallEpoch + now(); }
  void pass(Nanos length) { cluster_->simulation().run_until(now() + length); }
  Coordinator& coordinator() { return *cluster_->coordinator(); }
  std::vector<bool> connected() {
    std::vector<bool> list;
    for (const Lease& lease : coordinator().members().leases()) list.push_back(lease.connected);
    return list;
  }
  bool all_connected() { return cluster_->coordinator() != nullptr && connected() == std::vector(3, true); }
  std::uint64_t received(NodeId node) { return cluster_->fabric().traffic(node).messages_received; }
  Nanos time_until_all_are_connected() {
    const Nanos since = now();
    EXPECT_TRUE(cluster_->simulation().run_until([&] { return all_connected() || now() > since + 100_s; }));
    return now() - since;
  }
  // On all data servers.
  std::size_t objects() {
    std::size_t count = 0;
    for (std::uint32_t server = 0; server < 3; ++server)
      count += run(cluster_->storage(server).store().list())->size();
    return count;
  }
  void write(OpenFile& file, Bytes at, Bytes length) {
    const auto bytes = random_bytes(length.count(), 1);
    EXPECT_TRUE(run(file.write(at, bytes)).ok());
  }
};

TEST_F(CoordinatorTest, EveryDataServerHasASessionAndAQuietOneIsSilentButForKeepAlives) {
  for (const bool alone : {false, true}) {
    begin(coordinated(alone));
    EXPECT_TRUE(all_connected());
    const std::uint64_t before = received(cluster_->coordinator_node());
    pass(60_s);
    // Each server, and a metadata server that follows, asks every five seconds.
    const std::uint64_t followers = alone ? 4 : 3;
    EXPECT_GE(received(cluster_->coordinator_node()) - before, 11 * followers);
    EXPECT_LE(received(cluster_->coordinator_node()) - before, 12 * followers);
    EXPECT_TRUE(all_connected());
    for (const Lease& lease : coordinator().members().leases()) {
      EXPECT_LE(lease.since, wall() - 60_s);
      EXPECT_GE(lease.heard, wall() - 5100_ms);
    }
  }
}

TEST_F(CoordinatorTest, ABrokenSessionIsMadeAnewAtOnce) {
  for (const bool alone : {false, true}) {
    begin(coordinated(alone));
    pass(10_s);
    cluster_->stop_data(1);
    EXPECT_TRUE(cluster_->simulation().run_until([&] { return !connected()[1]; }));
    cluster_->start_data(1);
    EXPECT_LE(time_until_all_are_connected(), 10_ms);
    pass(10_s);
    // A restart that nobody notices before it is over.
    alone ? cluster_->stop_coordinator() : cluster_->stop_meta();
    alone ? cluster_->start_coordinator() : cluster_->start_meta();
    EXPECT_LE(time_until_all_are_connected(), 20_ms);
    pass(10_s);
    alone ? cluster_->stop_coordinator() : cluster_->stop_meta();
    pass(60_s);
    alone ? cluster_->start_coordinator() : cluster_->start_meta();
    EXPECT_LE(time_until_all_are_connected(), 1100_ms) << "pauses grow to a second";
  }
}

TEST_F(CoordinatorTest, HalfAConnectionIsNoticedOnBothSides) {
  auto options = coordinated();
  options.fabric.detection_delay = 100'000_s;
  begin(options);
  pass(10_s);
  cluster_->fabric().cut(SimCluster::meta_node(), SimCluster::data_node(1));
  pass(Members::kLease + 100_ms);
  EXPECT_EQ(connected(), (std::vector<bool>{true, false, true}));
  cluster_->fabric().heal(SimCluster::meta_node(), SimCluster::data_node(1));
  EXPECT_LE(time_until_all_are_connected(), 2100_ms);
}

TEST_F(CoordinatorTest, AdviceArrivesInEveryServersPolicyAndExpires) {
  std::vector<std::vector<Advice>> heard(3);
  for (const bool alone : {false, true}) {
    auto options = coordinated(alone);
    // A data server's own clock, and that of a coordinator, may be wrong by as much as they like.
    options.skew = {10_s, -7_s, 0_s, 3600_s, 0_s, -20_s};
    options.policy_maker = [&](std::uint32_t server) {
      return std::make_unique<ListeningPolicy>(*make_request_policy("fcfs"), heard[server]);
    };
    for (auto& list : heard) list.clear();
    begin(options);
    const Nanos cluster_time = coordinator().wall();
    const TimeSlice first{7, false, cluster_time + 1_s, cluster_time + 2_s};
    const TimeSlice rest{0, true, cluster_time + 2_s, cluster_time + 3_s};
    coordinator().members().advise({0, cluster_time + 4_s, {first, rest}, {}});
    const Nanos sent = now();
    pass(10_ms);
    for (const auto& list : heard) {
      ASSERT_EQ(list.size(), 1U);
      const Advice& advice = list.front();
      ASSERT_EQ(advice.slices.size(), 2U);
      EXPECT_EQ(advice.slices[0].application, 7U);
      EXPECT_FALSE(advice.slices[0].rest);
      EXPECT_TRUE(advice.slices[1].rest);
      // On the server's steady clock, with the error of a round trip.
      EXPECT_LE(std::abs((advice.expiry - (sent + 4_s)).count()), (1_ms).count());
      EXPECT_LE(std::abs((advice.slices[1].from - (sent + 2_s)).count()), (1_ms).count());
    }
    // Who comes later hears it too, as long as it is valid.
    cluster_->stop_data(2);
    cluster_->start_data(2);
    pass(100_ms);
    EXPECT_EQ(heard[2].size(), 2U);
    pass(4_s);
    cluster_->stop_data(2);
    cluster_->start_data(2);
    pass(100_ms);
    EXPECT_EQ(heard[2].size(), 2U);
    coordinator().members().advise({0, coordinator().wall() + 1_s, {}, {}});
    pass(10_ms);
    ASSERT_EQ(heard[0].size(), 2U);
    EXPECT_GT(heard[0][1].epoch, heard[0][0].epoch);
  }
}

TEST_F(CoordinatorTest, StatisticsComeWhileSomethingHappensAtMostEveryTenthOfASecond) {
  auto options = coordinated();
  options.storage.device = SimDevice::hdd;
  options.storage.store.cache.size = 0_B;  // writes go to the device
  begin(options);
  client_.reset();
  ClientOptions client;
  client.application = 77;
  client_ = make_client(client);
  LayoutWish one;
  one.stripe_count = 1;
  one.first_server = 1;
  auto file = open("/f", one);
  // One mebibyte, then a hole of one.
  for (std::uint64_t i = 0; i < 8; ++i) write(*file, 2_MiB * i, 1_MiB);
  pass(200_ms);
  const UseReport report = coordinator().members().member(1)->report();
  ASSERT_EQ(report.applications.size(), 1U);
  const Use& use = report.applications.front();
  EXPECT_EQ(use.application, 77U);
  EXPECT_EQ(use.bytes, 8_MiB);
  EXPECT_EQ(use.requests, 8U);
  EXPECT_GT(use.served, 0_s);
  EXPECT_EQ(use.queued + use.in_service, 0U);
  // Locality counts in pieces of 128 KiB, from start to start: 8 in each request, 63 gaps between the 64 of them. All go
  // forward, so that they add up to the way from the first piece to the last, which begins at 14 MiB + 7 * 128 KiB.
  EXPECT_EQ(use.gaps, 63U);
  EXPECT_EQ(use.distance, 14_MiB + 128_KiB * 7);
  EXPECT_EQ(report.gaps, 63U);
  EXPECT_EQ(report.distance, 14_MiB + 128_KiB * 7);
  EXPECT_TRUE(coordinator().members().member(0)->report().applications.empty());
  // Busy for a second: ten reports, beside the client's and the keep-alives' few.
  const Nanos end = now() + 1_s;
  const std::uint64_t before = received(SimCluster::meta_node());
  while (now() < end) write(*file, 0_B, 64_KiB);
  EXPECT_GE(received(SimCluster::meta_node()) - before, 8U);
  EXPECT_LE(received(SimCluster::meta_node()) - before, 16U);
}

TEST_F(CoordinatorTest, WithoutTheCoordinatorEverythingIsServedAndOnlyChangesOfThePolicyFail) {
  auto options = coordinated(true);
  options.skew = {0_s, 50_s, -50_s};
  ClientOptions client;
  client.patience = 2_s;
  start(options, client);
  pass(1_s);
  auto file = open("/f");
  cluster_->stop_coordinator();
  pass(5_s);
  const auto bytes = random_bytes(4U << 20U, 3);
  EXPECT_TRUE(run(file->write(0_B, bytes)).ok());
  std::vector<std::byte> back(bytes.size());
  EXPECT_TRUE(run(file->read(0_B, back)).ok());
  EXPECT_EQ(back, bytes);
  EXPECT_TRUE(run(files().unlink("/f")).ok());
  EXPECT_TRUE(run(file->close()).ok());
  pass(1_s);
  EXPECT_EQ(objects(), 0U);
  const auto refused = run(files().set_policy("window"));
  EXPECT_EQ(refused.code(), Code::timed_out);
  EXPECT_NE(refused.status().message().find("coordinator"), std::string::npos) << refused.status().message();
  cluster_->start_coordinator();
  EXPECT_LE(time_until_all_are_connected(), 1100_ms);
  EXPECT_TRUE(run(files().set_policy("window;interval=100")).ok());
  pass(3_s);
  for (std::uint32_t server = 0; server < 3; ++server)
    EXPECT_TRUE(cluster_->data_server(server)->dispatcher().policy_name().starts_with("window;interval=100"));
}

// By the own clock a capability would have expired, or a purge never have been allowed.
TEST_F(CoordinatorTest, AServerWhoseClockIsFarAheadServesAndPurges) {
  for (const bool alone : {false, true}) {
    for (const Nanos ahead : {300_s, 7200_s}) {
      auto options = coordinated(alone);
      // The metadata server's own clock counts only if it is the coordinator.
      options.skew = {alone ? ahead * 2 : 0_s, ahead, 0_s, -ahead};
      begin(options);
      auto file = open("/f");
      write(*file, 0_B, 1_MiB);
      ASSERT_TRUE(run(file->close()).ok());
      ASSERT_TRUE(run(files().unlink("/f")).ok());
      pass(1_s);
      EXPECT_EQ(objects(), 0U) << to_string(ahead) << " ahead";
      EXPECT_TRUE(run(files().set_policy("window")).ok());
    }
  }
}

// One that tries to be a data server without the servers' key.
TEST_F(CoordinatorTest, OnlyHoldersOfTheServersKeyJoinOrReport) {
  begin(coordinated());
  const auto session = [&] {
    auto connection = run(cluster_->fabric().node(cluster_->client_node(0)).connect(cluster_->map().meta));
    EXPECT_TRUE(connection.ok());
    auto channel = std::make_unique<Channel>(cluster_->simulation().executor(), *std::move(connection));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(wire::CreateSessionRequest(builder, wire::kProtocolVersion, 77, 77));
    EXPECT_TRUE(run(channel->call(wire::request_type(wire::Type::session), wire::bytes(builder))).ok());
    return channel;
  };
  auto channel = session();
  const auto forged = join_message(ServerKey::from_seed(123), {0, false}, wall());
  const auto reply = run(channel->call(wire::request_type(wire::Type::join), wire::bytes(forged)));
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(wire::status_of(*wire::parse<wire::JoinReply>(reply->payload)).code(), Code::bad_capability);
  const auto before = coordinator().members().member(0);
  const auto report = statistics_message({});
  ASSERT_TRUE(
      channel->connection().send(wire::request_type(wire::Type::statistics), 0, wire::bytes(report)).ok());
  pass(10_ms);
  EXPECT_TRUE(channel->closed());
  EXPECT_EQ(coordinator().members().member(0), before) << "the data server's own session stays";
  // A server that the cluster does not have.
  const auto none = join_message(ServerKey::from_seed(cluster_->options().seed), {9, false}, wall());
  channel = session();
  const auto refused = run(channel->call(wire::request_type(wire::Type::join), wire::bytes(none)));
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(wire::status_of(*wire::parse<wire::JoinReply>(refused->payload)).code(), Code::invalid);
}

TEST_F(CoordinatorTest, StatusTellsWhoIsConnected) {
  for (const bool alone : {false, true}) {
    begin(coordinated(alone));
    cluster_->stop_data(1);
    pass(1_s);
    std::vector<ServerLease> leases;
    for (const ServerStatus& server : run(files().status(1_s))) {
      if (server.kind == (alone ? "coordinator" : "meta")) leases = server.leases;
    }
    ASSERT_EQ(leases.size(), 3U);
    EXPECT_TRUE(leases[0].connected);
    EXPECT_FALSE(leases[1].connected);
    EXPECT_GE(leases[1].since, wall() - 2_s);
    EXPECT_LE(leases[1].heard, leases[1].since);
  }
}

}  // namespace
}  // namespace tutti
