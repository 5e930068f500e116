// Collective and independent typed access over simulated ranks, against a flat file.
#include "parallel/collective.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "tests/parallel/collective_fixture.h"

namespace tutti {
namespace {

class EveryPlan : public CollectiveTest, public testing::WithParamInterface<std::tuple<const char*, int>> {};

TEST_P(EveryPlan, AgreesWithAFlatFile) {
  const auto [plan, ranks] = GetParam();
  LayoutWish layout;
  layout.stripe_size = 512_B;
  start_ranks(static_cast<std::size_t>(ranks), {}, {}, layout);
  compare_with_a_flat_file(options_for(plan));
}

INSTANTIATE_TEST_SUITE_P(Plans, EveryPlan,
                         testing::Combine(testing::Values("auto", "independent", "two_phase", "disk_directed",
                                                          "two_phase;domains=cyclic", "resonant",
                                                          "resonant;reading=exchange;timing=never;agents=2",
                                                          "resonant;reading=reread;blocking=1",
                                                          "resonant;reading=reread_all",
                                                          "resonant;reading=prefetch;timing=never"),
                                          testing::Values(1, 2, 4, 9)));

// Servers wait until they know all of a directed call: an order that holds pieces back would make every one of them wait in vain.
TEST_F(CollectiveTest, AnOrderThatHoldsBackDoesNotDelayADirectedCall) {
  std::map<std::string, Nanos> took;
  for (const char* order : {"alternate", "auto"}) {
    TearDown();
    ClientOptions client;
    client.target_order = order;
    start_ranks(4, {}, client);
    stride(ranks_, 3240, 2000);
    CollectiveOptions options;
    options.plan = "disk_directed";
    const Nanos before = cluster_->simulation().now();
    for (const Status& status : write_all(options)) ASSERT_TRUE(status.ok()) << status.to_string();
    took[order] = cluster_->simulation().now() - before;
  }
  EXPECT_LT(took["auto"], took["alternate"] + 10_ms);
}

using CollectiveFaults = CollectiveTest;

TEST_F(CollectiveFaults, StoppedServerIsTheSameErrorOnEveryRank) {
  for (const char* plan :
       {"independent", "two_phase", "disk_directed", "resonant", "resonant;reading=reread"}) {
    SCOPED_TRACE(plan);
    TearDown();
    ClientOptions impatient;
    impatient.patience = 5_s;
    start_ranks(4, {}, impatient);
    stride(ranks_, 3240, 200);
    CollectiveOptions options;
    options.plan = plan;
    options.cb_buffer_size = 256_KiB;
    for (const Status& status : write_all(options)) ASSERT_TRUE(status.ok()) << status.to_string();
    cluster_->stop_data(2);
    const Nanos before = cluster_->simulation().now();
    const auto results = write_all(options);
    for (const Status& status : results) {
      EXPECT_EQ(status.code(), Code::timed_out);
      EXPECT_EQ(status.to_string(), results[0].to_string());
      EXPECT_NE(status.message().find("data server 2"), std::string::npos) << status.message();
    }
    EXPECT_LE(cluster_->simulation().now() - before, 15_s) << "one patience, not one for each round";
    for (const auto& got : read_all(options)) EXPECT_EQ(got.code(), Code::timed_out);
    cluster_->start_data(2);
    for (const Status& status : write_all(options)) EXPECT_TRUE(status.ok()) << "the group still works";
  }
}

TEST_F(CollectiveFaults, ServerRestartedInTimeIsNoError) {
  for (const char* plan :
       {"independent", "two_phase", "disk_directed", "resonant", "resonant;reading=reread"}) {
    SCOPED_TRACE(plan);
    TearDown();
    start_ranks(4);
    stride(ranks_, 3240, 500);
    CollectiveOptions options;
    options.plan = plan;
    options.cb_buffer_size = 256_KiB;
    std::vector<Task<Status>> tasks;
    for (Rank& rank : ranks_)
      tasks.push_back(write_collective(*rank.group, *rank.file, rank.access(), options));
    const auto results = run_with(when_all(std::move(tasks)), 1_ms, [&] {
      cluster_->stop_data(1);
      cluster_->simulation().run_until(cluster_->simulation().now() + 3_s);
      cluster_->start_data(1);
    });
    for (const Status& status : results) EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(whole_file(), strided_file(ranks_, 3240, 500));
  }
}

TEST_F(CollectiveFaults, RefusedArgumentsOfOneRankAreEverybodysError) {
  for (const char* plan : {"auto", "independent", "two_phase"}) {
    SCOPED_TRACE(plan);
    TearDown();
    start_ranks(4);
    stride(ranks_, 100, 10);
    CollectiveOptions options;
    options.plan = plan;
    std::vector<Task<Status>> tasks;
    for (Rank& rank : ranks_) {
      FileAccess access = rank.access();
      if (rank.group->rank() >= 2)
        access.refused =
            Status(Code::invalid, "negative count on rank " + std::to_string(rank.group->rank()));
      tasks.push_back(write_collective(*rank.group, *rank.file, std::move(access), options));
    }
    for (const Status& status : run(when_all(std::move(tasks)))) {
      EXPECT_EQ(status.code(), Code::invalid);
      EXPECT_EQ(status.message(), "negative count on rank 2");
    }
  }
}

TEST_F(CollectiveFaults, UnknownPlanIsRefused) {
  EXPECT_EQ(check_collective_plan("three_phase").code(), Code::invalid);
  EXPECT_TRUE(check_collective_plan("two_phase").ok());
}

// Views without rule are longer than what is sent whole, and are clipped for each aggregator.
TEST_F(CollectiveFaults, LongListsOfBlocksAreExchangedInParts) {
  start_ranks(4);
  Random random(12);
  std::vector<std::vector<std::int64_t>> lengths(4);
  std::vector<std::vector<std::int64_t>> places(4);
  std::int64_t at = 0;
  std::vector<std::byte> model;
  for (int i = 0; i < 200'000; ++i) {
    const std::size_t rank = random.below(4);
    const auto length = static_cast<std::int64_t>(1 + random.below(20));
    lengths[rank].push_back(length);
    places[rank].push_back(at);
    at += length + static_cast<std::int64_t>(random.below(3));
  }
  model.resize(static_cast<std::size_t>(at));
  for (std::size_t r = 0; r < 4; ++r) {
    Rank& rank = ranks_[r];
    rank.view.filetype = FlatType::indexed(lengths[r], places[r], FlatType::bytes(1));
    rank.memory_type.flat = FlatType::bytes(1);
    rank.count = rank.view.filetype.size();
    rank.memory = random_bytes(static_cast<std::size_t>(rank.count), r);
    std::size_t from = 0;
    for (std::size_t i = 0; i < lengths[r].size(); ++i) {
      const auto length = static_cast<std::size_t>(lengths[r][i]);
      std::memcpy(model.data() + places[r][i], rank.memory.data() + from, length);
      from += length;
    }
  }
  CollectiveOptions options;
  options.cb_buffer_size = 300_KiB;
  for (const Status& status : write_all(options)) ASSERT_TRUE(status.ok()) << status.to_string();
  auto file = whole_file();
  model.resize(file.size());
  EXPECT_TRUE(file == model);
  for (Rank& rank : ranks_) {
    std::fill(rank.memory.begin(), rank.memory.end(), std::byte{0});
  }
  for (const auto& got : read_all(options)) ASSERT_TRUE(got.ok());
  for (std::size_t r = 0; r < 4; ++r) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < lengths[r].size(); ++i) {
      const auto length = static_cast<std::size_t>(lengths[r][i]);
      ASSERT_EQ(std::memcmp(model.data() + places[r][i], ranks_[r].memory.data() + from, length), 0);
      from += length;
    }
  }
}

}  // namespace
}  // namespace tutti
