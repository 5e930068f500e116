#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "policy/target/order.h"

namespace tutti {
namespace {

// Targets on servers 0 to n - 1 of a file with n servers, with so many pieces of 1 MiB each.
std::vector<Target> targets(std::uint32_t count, std::uint32_t pieces = 4) {
  std::vector<Target> list(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    list[i].slot = list[i].server = i;
    list[i].left = pieces;
    list[i].open = pieces > 0;
    list[i].next = 1_MiB;
    list[i].share = list[i].bytes_left = 1_MiB * pieces;
    list[i].offset = 1_MiB * i;
  }
  return list;
}

VisitFacts facts_of(std::uint32_t servers, std::uint32_t rank = 0, std::uint32_t ranks = 0) {
  VisitFacts facts;
  facts.servers = servers;
  facts.rank = rank;
  facts.ranks = ranks;
  return facts;
}

// The slots in the order in which all pieces are sent, each landing before the next.
std::vector<std::uint32_t> visited(const std::string& order, std::vector<Target> list,
                                   const VisitFacts& facts) {
  const auto made = make_target_order(order);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  VisitState state;
  std::vector<std::uint32_t> slots;
  while (std::any_of(list.begin(), list.end(), [](const Target& each) { return each.open; })) {
    const auto next = (*made)->next(list, facts, state);
    if (!next) {
      ADD_FAILURE() << "nothing is in flight, and it waits";
      break;
    }
    Target& target = list[*next];
    EXPECT_TRUE(target.open);
    slots.push_back(target.slot);
    ++target.sent;
    target.bytes_left -= target.next;
    target.offset += 8_MiB;
    target.open = --target.left > 0;
  }
  return slots;
}

TEST(TargetOrders, EveryOrderHasItsNameAndSendsEveryPiece) {
  for (const std::string& name : target_order_names()) {
    const auto made = make_target_order(name);
    ASSERT_TRUE(made.ok()) << name;
    EXPECT_EQ((*made)->name(), name);
    EXPECT_EQ(visited(name, targets(5, 3), facts_of(5, 2, 4)).size(), 15U) << name;
  }
  EXPECT_EQ(make_target_order("sideways").code(), Code::invalid);
}

TEST(TargetOrders, FirstGoesStrictlyByTheFile) {
  EXPECT_EQ(visited("first", targets(3, 2), facts_of(3, 1, 3)),
            (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
  std::vector<Target> below_a_stripe = targets(2, 2);
  below_a_stripe[1].offset = 64_MiB;  // both pieces of the first server come before it in the file
  EXPECT_EQ(visited("first", below_a_stripe, facts_of(2)), (std::vector<std::uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(visited("alternate", below_a_stripe, facts_of(2)), (std::vector<std::uint32_t>{0, 1, 0, 1}));
}

TEST(TargetOrders, HashAtStepJSendsClientIToServerIPlusJ) {
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const auto slots = visited("hash", targets(8, 2), facts_of(8, rank, 8));
    for (std::uint32_t step = 0; step < 16; ++step) EXPECT_EQ(slots[step], (rank + step) % 8);
  }
}

TEST(TargetOrders, WithHashNoTwoRanksMeet) {
  std::vector<std::vector<std::uint32_t>> all;
  for (std::uint32_t rank = 0; rank < 6; ++rank)
    all.push_back(visited("hash", targets(6, 3), facts_of(6, rank, 6)));
  for (std::size_t step = 0; step < all[0].size(); ++step) {
    std::set<std::uint32_t> at_once;
    for (const auto& slots : all) at_once.insert(slots[step]);
    EXPECT_EQ(at_once.size(), 6U);
  }
}

TEST(TargetOrders, HashPassesOverServersThatHaveNothing) {
  std::vector<Target> list = targets(4, 2);
  list[1].open = false;
  list[1].left = 0;
  EXPECT_EQ(visited("hash", list, facts_of(4, 1, 4)), (std::vector<std::uint32_t>{2, 3, 0, 2, 3, 0}));
}

TEST(TargetOrders, ClientsWithoutARankBeginAtServersDrawnForThem) {
  std::set<std::uint32_t> begins;
  for (std::uint64_t chance = 0; chance < 64; ++chance) {
    VisitFacts facts = facts_of(8);
    facts.chance = mix64(chance);
    const auto slots = visited("hash", targets(8, 1), facts);
    begins.insert(slots[0]);
    for (std::size_t i = 1; i < slots.size(); ++i)
      EXPECT_EQ(slots[i], (slots[0] + i) % 8) << "and go on from there";
  }
  EXPECT_EQ(begins.size(), 8U);
}

TEST(TargetOrders, RandomRepeatsWithItsSeedAndVaries) {
  VisitFacts facts = facts_of(8);
  facts.chance = 5;
  const auto once = visited("random", targets(8, 2), facts);
  EXPECT_EQ(visited("random", targets(8, 2), facts), once);
  facts.transfer = 1;
  EXPECT_NE(visited("random", targets(8, 2), facts), once) << "another transfer goes in another order";
}

TEST(TargetOrders, LoadFeedsIdleServersFirstAndTheFullestShareOfThose) {
  std::vector<Target> list = targets(3, 4);
  for (Target& each : list) {
    each.known = true;
    each.service = 10_ms;
  }
  list[0].wait = 100_ms;
  list[1].wait = 1_ms;
  list[2].wait = 2_ms;
  list[2].left = 64;
  const auto order = *make_target_order("load");
  VisitState state;
  EXPECT_EQ(order->next(list, facts_of(3), state), 2U) << "both are idle soon, but this one has more to come";
  list[2].wait = 50_ms;
  EXPECT_EQ(order->next(list, facts_of(3), state), 1U);
  list[1].wait = 200_ms;
  EXPECT_EQ(order->next(list, facts_of(3), state), 2U) << "all are busy: the shortest queue";
}

TEST(TargetOrders, WithoutNewsLoadGoesLikeHash) {
  EXPECT_EQ(visited("load", targets(4, 2), facts_of(4, 3, 4)),
            visited("hash", targets(4, 2), facts_of(4, 3, 4)));
}

class AutoOrder : public testing::Test {
 protected:
  std::optional<std::size_t> next(bool write = true) {
    VisitFacts facts = facts_of(4, 0, ranks_);
    facts.write = write;
    return order_->next(list_, facts, state_);
  }
  // Servers that have said how fast they are, and have something to do.
  void in_memory() {
    for (Target& each : list_) {
      each.known = true;
      each.service = 10_ms;
      each.wait = 20_ms;
    }
  }
  const std::unique_ptr<TargetOrder> order_ = *make_target_order("auto");
  std::vector<Target> list_ = targets(4, 8);
  VisitState state_;
  std::uint32_t ranks_ = 0;
};

TEST_F(AutoOrder, SmallReadsGoToAllServersAtOnce) {
  in_memory();
  state_.pieces = 3;
  EXPECT_TRUE(next(false).has_value());
}

TEST_F(AutoOrder, OfLargeReadsNoMoreThanAWindowIsUnderWay) {
  in_memory();
  for (Target& each : list_) each.next = 4_MiB, each.share = 32_MiB;
  state_.pieces = 1;
  EXPECT_TRUE(next(false).has_value()) << "two pieces in any case";
  state_.pieces = 2;
  EXPECT_FALSE(next(false).has_value());
}

TEST_F(AutoOrder, HowManyPiecesOfAReadAreUnderWayDoesNotChangeBeforeItsEnd) {
  list_ = targets(4, 1);
  in_memory();
  for (Target& each : list_) each.sent = 1, each.share = 8_MiB, each.next = each.bytes_left = 1_KiB;
  state_.pieces = 2;
  EXPECT_FALSE(next(false).has_value()) << "what is left of each is small";
}

TEST_F(AutoOrder, WritesToMemoryHaveAllThatMayBeInFlight) {
  in_memory();
  for (Target& each : list_) each.next = 4_MiB;
  state_.pieces = 12;
  EXPECT_TRUE(next(true).has_value());
}

TEST_F(AutoOrder, AWriteHasTwoPiecesOnEachDevice) {
  for (const bool known : {false, true}) {
    for (Target& each : list_) each.known = known, each.in_flight = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
      const auto chosen = next(true);
      ASSERT_TRUE(chosen.has_value());
      EXPECT_EQ(list_[*chosen].in_flight++, i / 4) << "one each, then one more each";
      ++state_.pieces;
    }
    EXPECT_FALSE(next(true).has_value());
  }
}

TEST_F(AutoOrder, AWriteToRotatingDisksByAClientOnItsOwnHasAllThatMayBeInFlight) {
  for (Target& each : list_) each.in_flight = 2;
  VisitFacts facts = facts_of(4, 0, 0);
  facts.write = facts.rotational = true;
  EXPECT_TRUE(order_->next(list_, facts, state_).has_value());
  facts.ranks = 4;
  EXPECT_FALSE(order_->next(list_, facts, state_).has_value());
}

TEST_F(AutoOrder, ServersInMemoryDoNotWaitForADeviceBesideThem) {
  in_memory();
  list_[3].service = Nanos();
  list_[3].in_flight = 2;
  for (const bool write : {true, false}) {
    std::set<std::size_t> chosen;
    for (int i = 0; i < 64; ++i) {
      const auto next_one = next(write);
      ASSERT_TRUE(next_one.has_value());
      chosen.insert(*next_one);
      ++list_[*next_one].in_flight;
      ++list_[*next_one].sent;
    }
    EXPECT_TRUE(chosen.contains(0) && chosen.contains(1) && chosen.contains(2));
    EXPECT_EQ(chosen.contains(3), !write) << "its two pieces are on their way";
  }
}

TEST_F(AutoOrder, OfUnequalWritesToDevicesTwoPiecesAreUnderWayWhileOthersAreThere) {
  list_[1].share = list_[1].bytes_left = 20_MiB;
  for (Target& each : list_) each.known = true;
  state_.pieces = 2;
  EXPECT_TRUE(next(true).has_value()) << "a client without a group may be alone";
  ranks_ = 4;
  EXPECT_FALSE(next(true).has_value());
  list_[0].sent = list_[2].sent = 1;
  EXPECT_TRUE(next(true).has_value()) << "two have landed, and nobody else is there";
  list_[2].wait = 5_ms;
  EXPECT_FALSE(next(true).has_value());
}

TEST_F(AutoOrder, ReadsFromDevicesHaveAllThatMayBeInFlight) {
  for (Target& each : list_) each.known = true;
  state_.pieces = 12;
  EXPECT_TRUE(next(false).has_value());
}

TEST_F(AutoOrder, OfReadsFromMemoryEqualSharesGoByHashAndUnequalOnesByLoad) {
  in_memory();
  list_[0].wait = 500_ms;
  EXPECT_EQ(next(false), 0U) << "rank 0 begins with its own";
  list_[1].share = 20_MiB;
  EXPECT_NE(next(false), 0U) << "the first server is busy for long";
}

TEST_F(AutoOrder, SmallTransfersGoInTheOrderOfTheFile) {
  for (const bool memory : {false, true}) {
    list_ = targets(4, 1);
    for (Target& each : list_) each.share = each.next = each.bytes_left = 64_KiB;
    if (memory) in_memory();
    for (std::size_t i = 0; i < 4; ++i) {
      VisitFacts facts = facts_of(4, 2, 4);
      facts.write = true;
      EXPECT_EQ(order_->next(list_, facts, state_), i);
      ++list_[i].sent;
      ++list_[i].in_flight;
      list_[i].open = false;
      ++state_.pieces;
    }
  }
}

TEST_F(AutoOrder, ReadsFromRotatingDisksAreDrawn) {
  list_ = targets(4, 1);
  std::set<std::size_t> begun;
  for (std::uint64_t transfer = 0; transfer < 64; ++transfer) {
    VisitFacts facts = facts_of(4, 0, 4);
    facts.rotational = true;
    facts.transfer = transfer;
    VisitState state;
    begun.insert(*order_->next(list_, facts, state));
  }
  EXPECT_EQ(begun.size(), 4U);
  EXPECT_EQ(next(false), 0U) << "other devices: the order of hash";
}

TEST(TargetOrders, TheWindowOfAutoIsAParameter) {
  EXPECT_EQ((*make_target_order("auto;window=16MiB"))->name(), "auto;window=16777216");
  EXPECT_EQ(make_target_order("auto;window=1").code(), Code::invalid);
  EXPECT_EQ(make_target_order("hash;window=1MiB").code(), Code::invalid);
}

}  // namespace
}  // namespace tutti
