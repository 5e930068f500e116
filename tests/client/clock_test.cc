// Request times without synchronized clocks.
#include <gtest/gtest.h>

#include <string>

#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

class ClockTest : public testing::Test {
 protected:
  struct Writer {
    std::unique_ptr<SimClient> client;
    std::unique_ptr<OpenFile> file;
  };

  // Node 0 keeps the server busy; the clocks of nodes 1, 2, 3 are ahead by 5 s, right, and behind by 5 s.
  void start(const std::string& policy, Nanos server_skew, bool correct) {
    SimClusterOptions options;
    options.servers = 1;
    options.client_nodes = 4;
    options.policy = policy;
    options.skew = {0_s, server_skew, 0_s, 5_s, 0_s, -5_s};
    options.coordinated = true;
    auto made = SimCluster::create(options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    cluster_ = std::move(*made);
    ASSERT_TRUE(cluster_->start().ok());
    for (std::uint32_t node = 0; node < 4; ++node) {
      ClientOptions client;
      client.application = 100 - node;  // by id alone, the last would be the first
      client.correct_clock = correct;
      Writer& writer = writers_.emplace_back();
      writer.client = cluster_->make_client(node, {}, client);
      OpenOptions create;
      create.write = create.create = true;
      auto file = cluster_->simulation().run(writer.client->files().open("/" + std::to_string(node), create));
      ASSERT_TRUE(file && file->ok());
      writer.file = std::move(**file);
    }
    bytes_.resize(64U << 20U);
    cluster_->simulation().run_until(cluster_->simulation().now() + 1_s);
  }
  ~ClockTest() override { writers_.clear(); }

  static Task<void> write(OpenFile& file, std::span<const std::byte> bytes, char name, std::string& order) {
    const Status status = co_await file.write(0_B, bytes);
    order += status.ok() ? name : '!';
  }

  // Node 0 writes for half a second; meanwhile nodes 1, 2, 3 come, 100 ms apart. Who is served in which order?
  std::string order() {
    std::string order;
    Simulation& simulation = cluster_->simulation();
    Scope scope(simulation.executor());
    for (std::size_t node = 0; node < 4; ++node) {
      const auto part = std::span(bytes_).first(node == 0 ? bytes_.size() : 65536);
      scope.spawn(write(*writers_[node].file, part, static_cast<char>('0' + node), order));
      simulation.run_until(simulation.now() + 100_ms);
    }
    EXPECT_TRUE(simulation.run_until([&] { return order.size() == 4; }));
    return order;
  }

  std::unique_ptr<SimCluster> cluster_;
  std::vector<Writer> writers_;
  std::vector<std::byte> bytes_;
};

TEST_F(ClockTest, SkewedClientsAreServedInTheOrderOfTheClustersTime) {
  start("window;interval=50;dispatch_depth=1;order=id", 0_s, true);
  EXPECT_EQ(order(), "0123");
}

TEST_F(ClockTest, WithoutCorrectionTheSkewDecides) {
  start("window;interval=50;dispatch_depth=1;order=id", 0_s, false);
  EXPECT_EQ(order().front(), '3') << "it claims to have asked five seconds ago";
}

TEST_F(ClockTest, ADataServersOwnClockDoesNotMatterEither) {
  for (const Nanos skew : {7_s, -7_s, -100_s}) {
    start("window;interval=50;dispatch_depth=1;order=id", skew, true);
    EXPECT_EQ(order(), "0123") << to_string(skew);
    writers_.clear();
  }
}

TEST_F(ClockTest, ByTheServersClockTheArrivalDecides) {
  start("window;interval=50;dispatch_depth=1;order=id;request_clock=server", 0_s, false);
  EXPECT_EQ(order(), "0123");
}

TEST_F(ClockTest, MeasuringStopsWhenEnoughIsKnown) {
  start("fcfs", 0_s, true);
  std::vector<std::byte> page(4096);
  Simulation& simulation = cluster_->simulation();
  const auto received = [&] { return cluster_->fabric().traffic(SimCluster::meta_node()).messages_received; };
  const std::uint64_t before = received();
  for (int i = 0; i < 20; ++i) {
    const auto wrote = simulation.run(writers_[1].file->write(0_B, page));
    ASSERT_TRUE(wrote && wrote->ok());
  }
  EXPECT_LE(received() - before, 4U);
  EXPECT_GE(received() - before, 3U);
}

}  // namespace
}  // namespace tutti
