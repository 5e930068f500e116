#include "env/real/network/read_grants.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "base/random.h"

namespace tutti {
namespace {

class Fake final : public ReadGrants::Holder {
 public:
  void hold() override {
    EXPECT_FALSE(held);
    held = true;
  }
  void grant() override {
    EXPECT_TRUE(held);
    held = false;
  }
  bool held = false;
};

class ReadGrantsTest : public testing::Test {
 protected:
  // One region of each of the next servers.
  void ask(std::size_t servers) {
    for (std::size_t i = 0; i < servers; ++i) grants_.ask(servers_.emplace_back());
  }
  // So many servers may send at once, with nothing lost so far.
  void ask_and_grant(std::size_t servers) {
    ask(servers);
    while (!held().empty()) grants_.came(0);
  }
  void round_without_loss() {
    for (std::size_t i = 0; i < ReadGrants::kRound; ++i) grants_.came(0);
  }
  [[nodiscard]] std::set<std::size_t> held() const {
    std::set<std::size_t> result;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (servers_[i].held) result.insert(i);
    }
    return result;
  }

  ReadGrants grants_;
  std::deque<Fake> servers_;
};

TEST_F(ReadGrantsTest, FourMaySendAtFirstAndTwiceAsManyAgainAndAgainWhileNothingIsLost) {
  ask(16);
  EXPECT_EQ(held(), (std::set<std::size_t>{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  for (std::size_t i = 0; i < ReadGrants::kSettle; ++i) grants_.came(0);
  EXPECT_EQ(held(), (std::set<std::size_t>{8, 9, 10, 11, 12, 13, 14, 15}));
  for (std::size_t i = 0; i < ReadGrants::kSettle; ++i) grants_.came(0);
  EXPECT_TRUE(held().empty());
}

TEST_F(ReadGrantsTest, NobodyWaitsAfterThatWhileNothingIsLost) {
  ask_and_grant(16);
  for (std::size_t i = 0; i < 1000; ++i) {
    grants_.ask(servers_[i % 16]);
    grants_.came(0);
    grants_.done(servers_[i % 16]);
    ASSERT_TRUE(held().empty());
  }
}

// A client of four servers is not asked to learn how many a link of many can take.
TEST_F(ReadGrantsTest, TheLimitRisesOnlyWhileSomebodyWaits) {
  ask(4);
  for (int i = 0; i < 1000; ++i) grants_.came(0);
  EXPECT_EQ(grants_.limit(), ReadGrants::kFirst);
}

TEST_F(ReadGrantsTest, AfterALossHalfOfThemWaitTheLastOnes) {
  ask_and_grant(8);
  grants_.came(3);
  EXPECT_EQ(grants_.limit(), 4U);
  EXPECT_EQ(held(), (std::set<std::size_t>{4, 5, 6, 7}));
}

TEST_F(ReadGrantsTest, WhatWasSentBeforeTheLimitFellDoesNotLowerItAgain) {
  ask_and_grant(16);
  for (std::size_t i = 0; i < ReadGrants::kSettle; ++i) grants_.came(1);
  EXPECT_EQ(grants_.limit(), 8U);
  grants_.came(1);
  grants_.came(1);
  EXPECT_EQ(grants_.limit(), 4U);
}

TEST_F(ReadGrantsTest, WhoWaitsIsGrantedInTheOrderOfAsking) {
  ask(4);
  grants_.came(1);
  ask(2);
  EXPECT_EQ(held(), (std::set<std::size_t>{2, 3, 4, 5}));
  grants_.done(servers_[1]);
  EXPECT_EQ(held(), (std::set<std::size_t>{3, 4, 5}));
  grants_.done(servers_[0]);
  grants_.done(servers_[2]);
  EXPECT_EQ(held(), (std::set<std::size_t>{5}));
}

TEST_F(ReadGrantsTest, OneMoreAfterEachRoundWithoutALoss) {
  ask_and_grant(8);
  grants_.came(1);
  round_without_loss();
  ASSERT_EQ(grants_.limit(), 4U) << "part of it was the time after the loss";
  round_without_loss();
  EXPECT_EQ(grants_.limit(), 5U);
  EXPECT_EQ(grants_.granted(), 5U);
}

TEST_F(ReadGrantsTest, NeverLessThanTwo) {
  ask(4);
  for (int i = 0; i < 100; ++i) grants_.came(1);
  EXPECT_EQ(grants_.limit(), ReadGrants::kLeast);
  EXPECT_EQ(grants_.granted(), 2U);
}

TEST_F(ReadGrantsTest, WhoGivesUpWaitingTakesNoPlace) {
  ask(4);
  grants_.came(1);
  grants_.done(servers_[2]);
  EXPECT_FALSE(servers_[2].held) << "its server need not remember";
  grants_.done(servers_[0]);
  EXPECT_TRUE(held().empty());
  EXPECT_EQ(grants_.granted(), 2U);
  EXPECT_EQ(grants_.waiting(), 0U);
}

// A server that was told to wait with one region and not with another put the first before the second, and both waited.
TEST_F(ReadGrantsTest, RegionsOfOneServerAreGrantedTogether) {
  ask(1);
  for (int i = 0; i < 100; ++i) grants_.ask(servers_[0]);
  for (int i = 0; i < 10; ++i) grants_.came(1);
  EXPECT_FALSE(servers_[0].held);
}

TEST_F(ReadGrantsTest, WhoHasSentARegionGivesWay) {
  ask(4);
  for (Fake& server : servers_) grants_.ask(server);
  grants_.came(1);
  EXPECT_EQ(held(), (std::set<std::size_t>{2, 3}));
  grants_.done(servers_[0]);
  EXPECT_EQ(held(), (std::set<std::size_t>{0, 3}));
  grants_.done(servers_[1]);
  EXPECT_EQ(held(), (std::set<std::size_t>{0, 1}));
  grants_.done(servers_[2]);
  EXPECT_EQ(held(), (std::set<std::size_t>{1, 2}));
}

// Servers that were stopped, while others could send.
TEST_F(ReadGrantsTest, WhoSendsNothingGivesWay) {
  ask(6);
  ASSERT_EQ(held(), (std::set<std::size_t>{4, 5}));
  grants_.quiet();
  EXPECT_EQ(held(), (std::set<std::size_t>{2, 3})) << "all have their turn";
  grants_.done(servers_[4]);
  grants_.done(servers_[5]);
  EXPECT_TRUE(held().empty());
  grants_.quiet();
  EXPECT_TRUE(held().empty()) << "nobody waits";
}

TEST_F(ReadGrantsTest, AsLongAsSomethingIsAwaitedSomebodyMaySendIt) {
  Random random(1);
  ask(12);
  std::deque<std::size_t> awaited(servers_.size(), 1);
  for (int step = 0; step < 100'000; ++step) {
    const std::size_t server = random.below(servers_.size());
    switch (random.below(4)) {
      case 0:
        grants_.ask(servers_[server]);
        ++awaited[server];
        break;
      case 1:
        grants_.came(random.below(20) == 0 ? 1 : 0);
        break;
      case 2:
        if (random.below(50) == 0) grants_.quiet();
        break;
      default:
        if (awaited[server] == 0) break;
        grants_.done(servers_[server]);
        --awaited[server];
    }
    std::size_t sending = 0;
    std::size_t due = 0;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (awaited[i] > 0) ++due;
      if (awaited[i] > 0 && !servers_[i].held) ++sending;
      ASSERT_FALSE(awaited[i] == 0 && servers_[i].held) << "server " << i << " waits for nothing";
    }
    ASSERT_EQ(sending, std::min(due, grants_.limit()));
  }
}

}  // namespace
}  // namespace tutti
