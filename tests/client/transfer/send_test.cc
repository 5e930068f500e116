#include "client/transfer/send.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

class SendTest : public ClusterTest {
 protected:
  static Task<void> keep(Task<Status> task, std::optional<Status>& result) {
    result.emplace(co_await std::move(task));
  }
  // How many requests a data server had at most at once while 8 MiB are written in pieces of 64 KiB.
  std::size_t most_at_once(ClientOptions options) {
    SimClusterOptions cluster;
    cluster.policy = "fcfs;dispatch_depth=1";
    options.piece = 64_KiB;
    start(cluster, options);
    auto file = open("/a");
    const auto bytes = random_bytes(8 << 20, 3);
    std::optional<Status> written;
    std::size_t most = 0;
    Scope scope(cluster_->simulation().executor());
    scope.spawn(keep(file->write(0_B, bytes), written));
    EXPECT_TRUE(cluster_->simulation().run_until([&] {
      for (std::uint32_t server = 0; server < cluster_->servers(); ++server) {
        const Dispatcher& dispatcher = cluster_->data_server(server)->dispatcher();
        most = std::max(most, dispatcher.queued() + dispatcher.in_service());
      }
      return written.has_value();
    }));
    EXPECT_TRUE(written->ok()) << written->to_string();
    std::vector<std::byte> back(bytes.size());
    EXPECT_EQ(*run(file->read(0_B, back)), Bytes(bytes.size()));
    EXPECT_EQ(back, bytes);
    file.reset();
    return most;
  }
};

TEST_F(SendTest, PiecesOfOneServerAreBoundedWhereTheOptionSaysSo) {
  ClientOptions options;
  options.pieces_in_flight = 32;
  const std::size_t without = most_at_once(options);
  EXPECT_GT(without, 2U) << "without a limit a server has a queue";
  options.pieces_per_server = 2;
  EXPECT_LE(most_at_once(options), 2U);
}

TEST_F(SendTest, EveryOrderMovesEverythingWithAnyNumberInFlight) {
  for (const std::string& order : target_order_names()) {
    for (const std::size_t in_flight : {0U, 1U, 2U, 16U}) {
      ClientOptions options;
      options.target_order = order;
      options.pieces_in_flight = in_flight;
      const std::size_t most = most_at_once(options);
      if (in_flight == 1) EXPECT_EQ(most, 1U) << order;
    }
  }
}

TEST_F(SendTest, AFileMayBeVisitedInItsOwnWay) {
  start();
  OpenOptions wanted;
  wanted.write = wanted.create = true;
  wanted.visit = {"hash", 128_KiB, 2, 1};
  auto opened = run(files().open("/a", wanted));
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  OpenFile& file = **opened;
  file.set_rank(1, 4);
  EXPECT_EQ(file.target_order(), "hash");
  EXPECT_EQ(file.schedule_block(), 128_KiB);
  const auto bytes = random_bytes(3 << 20, 5);
  ASSERT_TRUE(run(file.write(0_B, bytes)).ok());
  ASSERT_TRUE(file.set_visit({"random", 4_KiB, 0, 0}).ok());
  std::vector<std::byte> back(bytes.size());
  EXPECT_EQ(*run(file.read(0_B, back)), Bytes(bytes.size()));
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(file.set_visit({"", 1_KiB, 0, 0}).code(), Code::invalid);
  EXPECT_EQ(file.set_visit({"sideways", 0_B, 0, 0}).code(), Code::invalid);
  EXPECT_EQ(file.set_visit({"", 0_B, 17, 0}).code(), Code::invalid);
  EXPECT_EQ(file.target_order(), "random") << "nothing was changed";
}

TEST_F(SendTest, AnUnknownOrderOfServersIsRefusedAtOpen) {
  ClientOptions options;
  options.target_order = "sideways";
  start({}, options);
  OpenOptions create;
  create.write = create.create = true;
  const auto file = run(files().open("/a", create));
  EXPECT_EQ(file.code(), Code::invalid);
  EXPECT_NE(file.status().message().find("alternate"), std::string::npos) << file.status().message();
}

// Lets one transfer in at a time, in the order of coming.
class OneAtATime final : public TransferGate {
 public:
  explicit OneAtATime(Executor& executor) : free_(executor, 1) {}
  Task<Status> enter(const TransferFacts& facts) override {
    if (facts.length > 1_MiB) co_return Status(Code::permission, "too much for this gate");
    co_await free_.acquire();
    entered.push_back(facts);
    most = std::max(most, ++inside);
    co_return Status();
  }
  void leave(const TransferFacts& /*facts*/) override {
    --inside;
    free_.release();
  }
  std::vector<TransferFacts> entered;
  int inside = 0;
  int most = 0;

 private:
  Semaphore free_;
};

class GateTest : public SendTest {
 protected:
  void start_gated() {
    start();
    gate_ = std::make_shared<OneAtATime>(cluster_->simulation().executor());
    ClientOptions options;
    options.gate = gate_;
    options.application = 77;
    client_ = make_client(options);
  }
  std::shared_ptr<OneAtATime> gate_;
};

TEST_F(GateTest, EveryTransferPassesTheGateAndLeavesIt) {
  start_gated();
  auto file = open("/a");
  const auto bytes = random_bytes(200'000, 1);
  std::deque<std::optional<Status>> written(5);
  Scope scope(cluster_->simulation().executor());
  for (auto& each : written) scope.spawn(keep(file->write(0_B, bytes), each));
  EXPECT_TRUE(cluster_->simulation().run_until([&] {
    return std::all_of(written.begin(), written.end(), [](const auto& each) { return each.has_value(); });
  }));
  for (const auto& each : written) EXPECT_TRUE(each->ok());
  std::vector<std::byte> back(bytes.size());
  EXPECT_EQ(*run(file->read(0_B, back)), Bytes(bytes.size()));
  EXPECT_EQ(gate_->most, 1);
  EXPECT_EQ(gate_->inside, 0);
  ASSERT_EQ(gate_->entered.size(), 6U);
  EXPECT_EQ(gate_->entered[0].length, Bytes(200'000));
  EXPECT_EQ(gate_->entered[0].bottleneck, 64_KiB);
  EXPECT_EQ(gate_->entered[0].application, 77U);
  EXPECT_EQ(gate_->entered[0].file, file->attributes().inode);
  EXPECT_TRUE(gate_->entered[0].write);
  EXPECT_FALSE(gate_->entered[5].write);
}

TEST_F(GateTest, WhatTheGateRefusesFailsAndNothingIsSent) {
  start_gated();
  auto file = open("/a");
  EXPECT_EQ(run(file->write(0_B, random_bytes(2 << 20, 1))).code(), Code::permission);
  EXPECT_EQ(*run(file->size()), 0_B);
  EXPECT_EQ(gate_->inside, 0);
}

TEST_F(GateTest, ATransferThatIsGivenUpLeavesTheGate) {
  start_gated();
  auto file = open("/a");
  const auto bytes = random_bytes(1 << 20, 1);
  {
    std::optional<Status> none;
    Scope scope(cluster_->simulation().executor());
    scope.spawn(keep(file->write(0_B, bytes), none));
    ASSERT_TRUE(cluster_->simulation().run_until([&] { return gate_->inside == 1; }));
  }
  EXPECT_EQ(gate_->inside, 0);
  EXPECT_TRUE(run(file->write(0_B, bytes)).ok()) << "the next one comes in";
}

}  // namespace
}  // namespace tutti
