#include "lab/sim/sim_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "env/combine.h"

namespace tutti {
namespace {

class SimGroupTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    SimClusterOptions options;
    options.client_nodes = 3;
    auto made = SimCluster::create(options);
    ASSERT_TRUE(made.ok());
    cluster_ = std::move(*made);
    ASSERT_TRUE(cluster_->start().ok());
    std::vector<std::uint32_t> nodes;
    for (int rank = 0; rank < GetParam(); ++rank) nodes.push_back(static_cast<std::uint32_t>(rank % 3));
    auto groups = SimGroup::create_all(*cluster_, nodes, "app");
    ASSERT_TRUE(groups.ok()) << groups.status().to_string();
    groups_ = std::move(*groups);
  }
  void TearDown() override { groups_.clear(); }

  // Runs one task for each rank and returns their results.
  template <typename Make>
  std::vector<Status> on_all(Make make) {
    std::vector<Task<Status>> tasks;
    for (auto& group : groups_) tasks.push_back(make(*group));
    auto result = cluster_->simulation().run(when_all(std::move(tasks)));
    EXPECT_TRUE(result.has_value()) << "deadlock";
    return result ? *result : std::vector<Status>();
  }

  std::unique_ptr<SimCluster> cluster_;
  std::vector<std::unique_ptr<SimGroup>> groups_;
};

Task<Status> late_barrier(Group& group, Clock& clock, Nanos& released) {
  co_await clock.sleep(1_ms * group.rank());
  TUTTI_CO_TRY(co_await group.barrier());
  released = clock.now();
  co_return Status();
}

TEST_P(SimGroupTest, BarrierWaitsForTheLast) {
  std::vector<Nanos> released(groups_.size());
  const Nanos begin = cluster_->simulation().now();
  const auto results = on_all([&](Group& group) {
    return late_barrier(group, cluster_->clock(0), released[static_cast<std::size_t>(group.rank())]);
  });
  for (const Status& status : results) EXPECT_TRUE(status.ok()) << status.to_string();
  for (const Nanos when : released) EXPECT_GE(when - begin, 1_ms * (GetParam() - 1));
}

Task<Status> gather_and_reduce(Group& group) {
  const std::array<std::int64_t, 2> mine{group.rank(), group.rank() * 10};
  std::vector<std::int64_t> all(2 * static_cast<std::size_t>(group.size()));
  TUTTI_CO_TRY(
      co_await group.allgather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all))));
  for (int rank = 0; rank < group.size(); ++rank) {
    EXPECT_EQ(all[static_cast<std::size_t>(rank) * 2], rank);
    EXPECT_EQ(all[static_cast<std::size_t>(rank) * 2 + 1], rank * 10);
  }
  std::array<std::int64_t, 2> values{group.rank(), -group.rank()};
  TUTTI_CO_TRY(co_await group.allreduce(Reduce::max, values));
  EXPECT_EQ(values, (std::array<std::int64_t, 2>{group.size() - 1, 0}));
  values = {1, 2};
  TUTTI_CO_TRY(co_await group.allreduce(Reduce::sum, values));
  EXPECT_EQ(values, (std::array<std::int64_t, 2>{group.size(), 2 * group.size()}));
  for (int root = 0; root < group.size(); ++root) {
    std::int64_t word = group.rank() == root ? 1000 + root : 0;
    TUTTI_CO_TRY(co_await group.broadcast(root, std::as_writable_bytes(std::span(&word, 1))));
    EXPECT_EQ(word, 1000 + root);
  }
  co_return Status();
}

TEST_P(SimGroupTest, GathersReducesAndBroadcasts) {
  for (const Status& status : on_all([](Group& group) { return gather_and_reduce(group); })) {
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

// Each rank sends to those above it, a different amount to each, some of it longer than a frame.
Task<Status> send_upwards(Group& group) {
  const auto length = [](int from, int to) { return static_cast<std::size_t>(1 + from * 700'000 + to * 13); };
  for (int round = 0; round < 3; ++round) {
    std::vector<std::vector<std::byte>> buffers;
    buffers.reserve(static_cast<std::size_t>(group.size()));
    std::vector<Outgoing> send;
    std::vector<Incoming> receive;
    for (int other = 0; other < group.size(); ++other) {
      if (other > group.rank()) {
        buffers.emplace_back(length(group.rank(), other), static_cast<std::byte>(group.rank() + round));
        send.push_back({other, buffers.back()});
      } else if (other < group.rank()) {
        buffers.emplace_back(length(other, group.rank()));
        receive.push_back({other, buffers.back()});
      }
    }
    TUTTI_CO_TRY(co_await group.exchange(send, receive));
    for (const Incoming& in : receive) {
      EXPECT_TRUE(std::all_of(in.bytes.begin(), in.bytes.end(), [&](std::byte byte) {
        return byte == static_cast<std::byte>(in.from + round);
      }));
    }
  }
  co_return Status();
}

TEST_P(SimGroupTest, ExchangesMessagesOfKnownLengths) {
  for (const Status& status : on_all([](Group& group) { return send_upwards(group); })) {
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SimGroupTest, testing::Values(1, 2, 3, 4, 9));

Task<Status> barriers(Group& group) {
  for (;;) TUTTI_CO_TRY(co_await group.barrier());
}

TEST(SimGroup, DeadRankBreaksTheGroupForThoseWhoWait) {
  auto cluster = SimCluster::create({});
  ASSERT_TRUE((*cluster)->start().ok());
  auto groups = SimGroup::create_all(**cluster, {0, 0}, "app");
  ASSERT_TRUE(groups.ok());
  Simulation& simulation = (*cluster)->simulation();
  Scope scope(simulation.executor());
  std::optional<Status> end;
  const auto keep = [](Group& group, std::optional<Status>& result) -> Task<void> {
    result.emplace(co_await barriers(group));
  };
  std::optional<Status> other;
  scope.spawn(keep(*(*groups)[0], end));
  {
    Scope dying(simulation.executor());
    dying.spawn(keep(*(*groups)[1], other));
    simulation.run_until(simulation.now() + 1_ms);
  }
  EXPECT_FALSE(end.has_value());
  (*groups)[1].reset();
  simulation.run_until(simulation.now() + 10_s);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->code(), Code::unavailable);
}

}  // namespace
}  // namespace tutti
