#include "policy/request/twins.h"

#include "tests/policy/request/asking.h"

namespace tutti {
namespace {

using namespace test;

TEST(TwinsPolicy, ServesOnlyTheApplicationOfTheWindow) {
  const auto policy = make_policy("twins;window=2000");
  policy->add(read_of(1, 5), 0_s);
  policy->add(read_of(2, 3), 0_s);
  policy->add(read_of(3, 5), 0_s);
  policy->add(read_of(4, 3), 0_s);
  EXPECT_EQ(served(*policy, 0_s), (Ids{2, 4}));  // the lowest id begins
  expect_wait(*policy, 1_ms, 2_ms);
  EXPECT_EQ(served(*policy, 2_ms), (Ids{1, 3}));
}

TEST(TwinsPolicy, WhatComesForTheWindowIsServedAtOnceAndWhatComesForOthersIsNot) {
  const auto policy = make_policy("twins;window=2000");
  policy->add(read_of(1, 3), 0_s);
  EXPECT_EQ(served(*policy, 0_s), (Ids{1}));
  policy->add(read_of(2, 5), 500_us);
  expect_wait(*policy, 500_us, 2_ms);
  policy->add(read_of(3, 3), 1_ms);
  EXPECT_EQ(served(*policy, 1_ms), (Ids{3}));
  expect_wait(*policy, 1_ms, 2_ms);
  EXPECT_EQ(served(*policy, 2_ms), (Ids{2}));
}

TEST(TwinsPolicy, WindowsGoRoundInTheOrderOfIds) {
  const auto policy = make_policy("twins;window=1000;dispatch_depth=1");
  std::uint64_t id = 0;
  for (int round = 0; round < 2; ++round) {
    for (const std::uint64_t application : {9U, 2U, 4U}) policy->add(read_of(++id, application), 0_s);
  }
  Ids order;
  Nanos now;
  for (int i = 0; i < 6; ++i, now += 1_ms) {
    const Decision decision = policy->next(now);
    ASSERT_EQ(decision.kind, Decision::Kind::dispatch);
    order.push_back(decision.id);
    policy->served(decision.id, 4_KiB, true, now);
  }
  EXPECT_EQ(order, (Ids{2, 3, 1, 5, 6, 4}));
}

TEST(TwinsPolicy, AnApplicationWithNothingInLineGetsNoWindow) {
  const auto policy = make_policy("twins;window=1000");
  policy->add(read_of(1, 2), 0_s);
  policy->add(read_of(2, 4), 0_s);
  policy->add(read_of(3, 9), 0_s);
  EXPECT_EQ(served(*policy, 0_s), (Ids{1}));
  policy->drop(2, 0_s);
  EXPECT_EQ(served(*policy, 1_ms), (Ids{3}));
}

TEST(TwinsPolicy, AfterAPauseTheFirstToComeIsServedAtOnce) {
  const auto policy = make_policy("twins");
  policy->add(read_of(1, 2), 0_s);
  EXPECT_EQ(served(*policy, 0_s), (Ids{1}));
  policy->add(read_of(2, 4), 10_s);
  EXPECT_EQ(served(*policy, 10_s), (Ids{2}));
}

TEST(TwinsPolicy, NamesItsParameters) {
  EXPECT_EQ(make_policy("twins")->name(), "twins;window=2000;dispatch_depth=16");
  EXPECT_EQ(make_request_policy("twins;window=0").code(), Code::invalid);
}

}  // namespace
}  // namespace tutti
