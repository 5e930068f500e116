#include "env/real/network/read_grants.h"

#include <gtest/gtest.h>

#include <set>

namespace tutti {
namespace {

class Fake final : public ReadGrants::Holder {
 public:
  void hold(std::uint64_t region) override { EXPECT_TRUE(held.insert(region).second); }
  void grant(std::uint64_t region) override { EXPECT_EQ(held.erase(region), 1U); }
  std::set<std::uint64_t> held;
};

class ReadGrantsTest : public testing::Test {
 protected:
  void ask(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t region = from; region < to; ++region) grants_.ask(holder_, region);
  }
  void round_without_loss() {
    for (std::size_t i = 0; i < ReadGrants::kRound; ++i) grants_.came(0);
  }

  ReadGrants grants_;
  Fake holder_;
};

TEST_F(ReadGrantsTest, NobodyWaitsWhileNothingIsLost) {
  for (std::uint64_t region = 0; region < 1000; ++region) {
    grants_.ask(holder_, region);
    grants_.came(0);
    if (region < 16) continue;
    EXPECT_FALSE(grants_.done(holder_, region - 16));
  }
  EXPECT_EQ(grants_.limit(), ReadGrants::kMost);
  EXPECT_TRUE(holder_.held.empty());
}

TEST_F(ReadGrantsTest, AfterALossHalfOfThemWaitTheLastOnes) {
  ask(0, 8);
  grants_.came(3);
  EXPECT_EQ(grants_.limit(), 4U);
  EXPECT_EQ(holder_.held, (std::set<std::uint64_t>{4, 5, 6, 7}));
}

TEST_F(ReadGrantsTest, WhatWasSentBeforeTheLimitFellDoesNotLowerItAgain) {
  ask(0, 16);
  for (std::size_t i = 0; i < ReadGrants::kRound; ++i) grants_.came(1);
  EXPECT_EQ(grants_.limit(), 8U);
  grants_.came(1);
  grants_.came(1);
  EXPECT_EQ(grants_.limit(), 4U);
}

TEST_F(ReadGrantsTest, WhoWaitsIsGrantedInTheOrderOfAsking) {
  ask(0, 4);
  grants_.came(1);
  ask(4, 6);
  EXPECT_EQ(holder_.held, (std::set<std::uint64_t>{2, 3, 4, 5}));
  EXPECT_FALSE(grants_.done(holder_, 1));
  EXPECT_EQ(holder_.held, (std::set<std::uint64_t>{3, 4, 5}));
  EXPECT_FALSE(grants_.done(holder_, 0));
  EXPECT_FALSE(grants_.done(holder_, 2));
  EXPECT_EQ(holder_.held, (std::set<std::uint64_t>{5}));
}

TEST_F(ReadGrantsTest, OneMoreAfterEachRoundWithoutALoss) {
  ask(0, 8);
  grants_.came(1);
  round_without_loss();
  ASSERT_EQ(grants_.limit(), 4U) << "the round of the loss";
  round_without_loss();
  EXPECT_EQ(grants_.limit(), 5U);
  EXPECT_EQ(grants_.granted(), 5U);
}

TEST_F(ReadGrantsTest, NeverLessThanTwo) {
  ask(0, 4);
  for (int i = 0; i < 100; ++i) grants_.came(1);
  EXPECT_EQ(grants_.limit(), ReadGrants::kLeast);
  EXPECT_EQ(grants_.granted(), 2U);
}

TEST_F(ReadGrantsTest, WhoGivesUpWaitingTakesNoPlace) {
  ask(0, 4);
  grants_.came(1);
  EXPECT_TRUE(grants_.done(holder_, 2));
  EXPECT_FALSE(grants_.done(holder_, 0));
  EXPECT_EQ(holder_.held, (std::set<std::uint64_t>{2})) << "whoever gave up is told by his holder";
  EXPECT_EQ(grants_.granted(), 2U);
  EXPECT_EQ(grants_.waiting(), 0U);
}

}  // namespace
}  // namespace tutti
