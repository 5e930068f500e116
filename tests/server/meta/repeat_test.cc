#include "server/meta/repeat.h"

#include "tests/server/meta/meta_fixture.h"

namespace tutti::meta {
namespace {

class MetaRepeat : public testing::Test {
 protected:
  void store(const Ticket& ticket, const std::string& answer, Nanos wall, Nanos age = 100_s) {
    ASSERT_TRUE(remember(kv_, ticket, answer, wall, age, sweep_).ok());
  }
  std::optional<std::string> known(const Ticket& ticket) { return *recall(kv_, ticket); }

  MapKv kv_;
  RepeatKey sweep_;
};

TEST_F(MetaRepeat, KnownRequestGetsItsAnswer) {
  const Ticket ticket{{1000, 7, 3}, 99};
  EXPECT_FALSE(known(ticket));
  store(ticket, "done", 1_s);
  EXPECT_EQ(known(ticket), "done");
}

TEST_F(MetaRepeat, AnswersAreNotGivenToOthers) {
  store({{1000, 7, 3}, 99}, "done", 1_s);
  EXPECT_FALSE(known({{1001, 7, 3}, 99})) << "another user";
  EXPECT_FALSE(known({{1000, 8, 3}, 99})) << "another client";
  EXPECT_FALSE(known({{1000, 7, 4}, 99})) << "another request";
  EXPECT_FALSE(known({{1000, 7, 3}, 98})) << "another request under the same number";
}

TEST_F(MetaRepeat, NumberZeroIsNeverStored) {
  store({{1000, 7, 0}, 99}, "done", 1_s);
  EXPECT_FALSE(known({{1000, 7, 0}, 99}));
  EXPECT_TRUE(kv_.map.empty());
}

TEST_F(MetaRepeat, OnlyTheNewestAnswersOfAClientAreKept) {
  for (std::uint64_t i = 1; i <= 5000; ++i) store({{0, 7, i}, i}, "x", 1_s);
  EXPECT_EQ(kv_.map.size(), kRepeatWindow);
  EXPECT_TRUE(known({{0, 7, 5000}, 5000}));
  EXPECT_TRUE(known({{0, 7, 5001 - kRepeatWindow}, 5001 - kRepeatWindow}));
  EXPECT_FALSE(known({{0, 7, 5000 - kRepeatWindow}, 5000 - kRepeatWindow}));
}

TEST_F(MetaRepeat, AnswersOfClientsThatAreGoneAreForgottenInTime) {
  for (std::uint64_t client = 1; client <= 500; ++client) store({{0, client, 1}, 1}, "x", 1_s);
  EXPECT_EQ(kv_.map.size(), 500U);
  for (std::uint64_t i = 1; i <= 300; ++i) store({{0, 1000, i}, i}, "x", 200_s);
  EXPECT_EQ(kv_.map.size(), 300U);
}

TEST_F(MetaRepeat, DamagedRecordsAreNoAnswersAndGo) {
  kv_.map[repeat_key({0, 1, 1})] = "garbage";
  kv_.map[repeat_key({0, 1, 2})] = "";
  EXPECT_FALSE(known({{0, 1, 1}, 0}));
  EXPECT_FALSE(known({{0, 1, 2}, 0}));
  store({{0, 2, 1}, 1}, "x", 1_s);
  EXPECT_EQ(kv_.map.size(), 1U);
}

}  // namespace
}  // namespace tutti::meta
