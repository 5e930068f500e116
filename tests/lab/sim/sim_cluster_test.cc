#include "lab/sim/sim_cluster.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

class SimClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    SimClusterOptions options;
    options.servers = 3;
    options.meta.capability_lifetime = 10_s;
    auto made = SimCluster::create(options);
    ASSERT_TRUE(made.ok());
    cluster_ = std::move(*made);
    ASSERT_TRUE(cluster_->start().ok());
    const Peer peer{.uid = 7, .gid = 7, .groups = {}, .pid = 1, .name = "test"};
    client_ = cluster_->make_client(0, peer, ClientOptions());
  }
  template <typename T>
  T run(Task<T> task) {
    auto result = cluster_->simulation().run(std::move(task));
    EXPECT_TRUE(result.has_value()) << "deadlock";
    return std::move(*result);
  }
  std::unique_ptr<OpenFile> create(const std::string& path) {
    OpenOptions options;
    options.write = true;
    options.create = true;
    options.layout.stripe_size = 512_B;
    auto file = run(client_->files().open(path, options));
    EXPECT_TRUE(file.ok()) << file.status().to_string();
    return std::move(*file);
  }

  std::unique_ptr<SimCluster> cluster_;
  std::unique_ptr<SimClient> client_;
};

std::vector<std::byte> pattern(std::size_t length) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

TEST_F(SimClusterTest, WhatIsWrittenIsRead) {
  const auto file = create("/a");
  const auto bytes = pattern(10'000);
  EXPECT_TRUE(run(file->write(100_B, bytes)).ok());
  std::vector<std::byte> back(20'000);
  const auto got = run(file->read(100_B, back));
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(got->count(), bytes.size());
  back.resize(got->count());
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(run(file->size()).value(), 10'100_B);
}

TEST_F(SimClusterTest, AWriteGoesOnWhenItsServerReturns) {
  const auto file = create("/a");
  cluster_->stop_data(1);
  Simulation& simulation = cluster_->simulation();
  simulation.spawn([](SimCluster& cluster) -> Task<void> {
    co_await cluster.clock(0).sleep(3_s);
    cluster.start_data(1);
  }(*cluster_));
  const auto bytes = pattern(5'000);
  const Status status = run(file->write(0_B, bytes));
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_GE(simulation.now(), 3_s);
}

TEST_F(SimClusterTest, FilesOutliveTheDeathOfEveryServer) {
  const auto bytes = pattern(5'000);
  {
    const auto file = create("/a");
    EXPECT_TRUE(run(file->write(0_B, bytes)).ok());
    EXPECT_TRUE(run(file->close()).ok());
  }
  cluster_->stop_meta();
  for (std::uint32_t server = 0; server < 3; ++server) cluster_->stop_data(server);
  ASSERT_TRUE(cluster_->start().ok());
  const auto file = create("/a");
  std::vector<std::byte> back(5'000);
  EXPECT_EQ(run(file->read(0_B, back)).value(), 5'000_B);
  EXPECT_EQ(back, bytes);
}

TEST_F(SimClusterTest, SyncedBytesSurviveLossOfPower) {
  const auto bytes = pattern(5'000);
  const auto file = create("/a");
  EXPECT_TRUE(run(file->write(0_B, bytes)).ok());
  EXPECT_TRUE(run(file->sync()).ok());
  cluster_->lose_power_meta();
  for (std::uint32_t server = 0; server < 3; ++server) cluster_->lose_power_data(server);
  ASSERT_TRUE(cluster_->start().ok());
  std::vector<std::byte> back(5'000);
  const auto got = run(file->read(0_B, back));
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(back, bytes);
}

Task<Status> sleep(Clock& clock, Nanos length) {
  co_await clock.sleep(length);
  co_return Status();
}

// The commit of a capability that lapsed long ago was refused, and with it the close.
TEST_F(SimClusterTest, AFileCanBeClosedLongAfterItsCapabilityExpired) {
  const auto file = create("/a");
  EXPECT_TRUE(run(file->write(0_B, pattern(100))).ok());
  EXPECT_TRUE(run(sleep(client_->clock(), 100_s)).ok());
  const Status closed = run(file->close());
  EXPECT_TRUE(closed.ok()) << closed.to_string();
}

// A cut that came before the growth on the server of the last byte left the file shorter than it ever was.
TEST_F(SimClusterTest, ATruncateGrowsBeforeItCuts) {
  const auto file = create("/a");
  EXPECT_TRUE(run(file->write(Bytes(9 * 512), pattern(512))).ok());  // the rest is a hole
  const ObjectId object{file->attributes().inode};
  const Layout layout = file->layout();
  const Bytes length(4 * 512 + 100);
  cluster_->stop_data(layout.server_of_slot(layout.slot_of(length - 1_B)));
  Simulation& simulation = cluster_->simulation();
  Scope scope(simulation.executor());
  scope.spawn(
      [](OpenFile& open, Bytes to) -> Task<void> { (co_await open.truncate(to)).ignore(); }(*file, length));
  simulation.run_until(simulation.now() + 2_s);
  const std::uint32_t tail = layout.server_of_slot(layout.slot_of(Bytes(9 * 512)));
  EXPECT_EQ(run(cluster_->storage(tail).store().length(object)).value(), Bytes(4 * 512)) << "cut too early";
}

TEST(SimCluster, AnUnknownPolicyIsRefused) {
  SimClusterOptions options;
  options.policy = "nosuch";
  EXPECT_EQ(SimCluster::create(options).code(), Code::invalid);
}

// Data servers show their stores to the metadata server.
class SimStores : public testing::Test {
 protected:
  SimStores() {
    SimClusterOptions options;
    options.servers = 2;
    options.enrol = true;
    cluster_ = std::move(*SimCluster::create(options));
    EXPECT_TRUE(cluster_->start().ok());
    pass(1_s);
  }
  void pass(Nanos time) { cluster_->simulation().run_until(cluster_->simulation().now() + time); }
  void restart(std::uint32_t server) {
    cluster_->stop_data(server);
    cluster_->start_data(server);
    pass(1_s);
  }
  std::unique_ptr<SimCluster> cluster_;
};

TEST_F(SimStores, TheOwnStoreIsServed) {
  restart(0);
  EXPECT_TRUE(cluster_->data_running(0));
  EXPECT_FALSE(cluster_->storage(0).store().identity().metadata.none());
}

TEST_F(SimStores, SwappedStoresAreRefused) {
  cluster_->swap_storage(0, 1);
  for (const std::uint32_t server : {0U, 1U}) {
    restart(server);
    EXPECT_EQ(cluster_->refusal(server).code(), Code::invalid);
  }
  cluster_->swap_storage(0, 1);
  restart(0);
  EXPECT_TRUE(cluster_->data_running(0));
}

TEST_F(SimStores, AnEmptyStoreIsRefusedAndWaitsWhileNobodyCanJudgeIt) {
  cluster_->exchange_storage(0);
  restart(0);
  EXPECT_EQ(cluster_->refusal(0).code(), Code::invalid);
  cluster_->stop_meta();
  restart(0);
  EXPECT_TRUE(cluster_->refusal(0).ok());
  const auto connection = cluster_->simulation().run(
      cluster_->fabric().node(cluster_->client_node(0)).connect(cluster_->map().data[0]));
  ASSERT_TRUE(connection && connection->ok());
  cluster_->start_meta();
  pass(3_s);
  EXPECT_EQ(cluster_->refusal(0).code(), Code::invalid);
  EXPECT_TRUE(cluster_->health().ok()) << cluster_->health().to_string();
}

TEST_F(SimStores, AKnownStoreIsServedWhileTheMetadataServerIsAway) {
  const Peer peer{.uid = 7, .gid = 7, .groups = {}, .pid = 1, .name = "test"};
  const auto client = cluster_->make_client(0, peer, ClientOptions());
  OpenOptions options;
  options.write = true;
  options.create = true;
  auto file = cluster_->simulation().run(client->files().open("/f", options));
  ASSERT_TRUE(file && file->ok());
  cluster_->stop_meta();
  restart(0);
  restart(1);
  const auto bytes = pattern(300'000);
  const auto written = cluster_->simulation().run((**file)->write(0_B, bytes));
  ASSERT_TRUE(written);
  EXPECT_TRUE(written->ok()) << written->to_string();
}

}  // namespace
}  // namespace tutti
