#include "client/transfer/order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti {
namespace {

// Seven pieces on three servers: three on the first, two on each of the others.
class FlightTest : public testing::Test {
 protected:
  [[nodiscard]] Flight flight(const std::string& order, std::size_t per_server = 0, VisitFacts facts = {}) {
    order_ = *make_target_order(order);
    return Flight(pieces_, layout_, *order_, facts, per_server, loads_);
  }
  // The slots of the pieces that are sent now, without anything landing.
  [[nodiscard]] std::vector<std::uint32_t> take_all(Flight& flight, Nanos now = 0_s) {
    std::vector<std::uint32_t> slots;
    while (const auto next = flight.take(now)) {
      taken_.push_back(*next);
      slots.push_back(pieces_[*next].slot);
    }
    return slots;
  }
  // The number of the n-th piece of a slot.
  [[nodiscard]] std::size_t piece(std::uint32_t slot, std::size_t number) const {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].slot == slot && number-- == 0) return i;
    }
    return 0;
  }
  const Layout layout_{512_B, 3, 0, 3};
  const Extent extent_{0_B, Bytes(512 * 7)};
  const Segment memory_{4096, 512 * 7};
  const Shares shares_ = split(layout_, {&extent_, 1}, {&memory_, 1});
  const Pieces pieces_ = Pieces::cut(shares_, {512_B});
  std::unique_ptr<TargetOrder> order_;
  std::vector<const ServerLoad*> loads_;
  std::vector<std::size_t> taken_;
};

TEST_F(FlightTest, WithoutALimitAllAreSentInTheOrderOfThePolicy) {
  Flight alternate = flight("alternate");
  EXPECT_EQ(take_all(alternate), (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0}));
  EXPECT_TRUE(alternate.over());
  std::sort(taken_.begin(), taken_.end());
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(taken_[i], i) << "each once";
  VisitFacts facts;
  facts.rank = 2;
  facts.ranks = 3;
  Flight hash = flight("hash", 0, facts);
  EXPECT_EQ(take_all(hash), (std::vector<std::uint32_t>{2, 0, 1, 2, 0, 1, 0}));
}

TEST_F(FlightTest, PiecesOfOneServerGoInTheOrderOfTheFile) {
  Flight random = flight("random");
  (void)take_all(random);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    Bytes last;
    for (const std::size_t index : taken_) {
      if (pieces_[index].slot != slot) continue;
      EXPECT_GE(pieces_[index].object.front().offset, last);
      last = pieces_[index].object.front().offset;
    }
  }
}

TEST_F(FlightTest, AServerHasNoMoreThanTheLimitInFlight) {
  Flight limited = flight("alternate", 1);
  EXPECT_EQ(take_all(limited), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_FALSE(limited.over());
  limited.landed(piece(1, 0));
  EXPECT_EQ(take_all(limited), (std::vector<std::uint32_t>{1})) << "the next one for the same server";
  limited.landed(piece(0, 0));
  EXPECT_EQ(take_all(limited), (std::vector<std::uint32_t>{0}));
  limited.landed(piece(0, 1));
  limited.landed(piece(2, 0));
  EXPECT_EQ(take_all(limited), (std::vector<std::uint32_t>{2, 0}));
  EXPECT_TRUE(limited.over());
}

TEST(PacedFlight, FirstPiecesOfAReadOfOneOfSeveralAreTimeApart) {
  const Layout layout{4_MiB, 4, 0, 4};
  const Extent extent{0_B, 32_MiB};
  const Segment memory{4096, (32_MiB).count()};
  const Shares shares = split(layout, {&extent, 1}, {&memory, 1});
  const Pieces pieces = Pieces::cut(shares, {4_MiB});
  ServerLoad load;
  load.heard(wire::Load(0, 10'240), 0_s);  // 100 MB/s, nothing waits
  const std::vector<const ServerLoad*> loads(4, &load);
  const auto order = *make_target_order("auto");
  VisitFacts facts;
  facts.rank = 1;
  facts.ranks = 4;
  Flight flight(pieces, layout, *order, facts, 0, loads);
  const auto first = flight.take(0_s);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(pieces[*first].slot, 1U);
  const Nanos pause = flight.paused_until();
  EXPECT_GT(pause, 0_s);
  EXPECT_LT(pause, 5_ms) << "a small part of the 40 ms of a piece";
  EXPECT_FALSE(flight.take(pause - 1_ns).has_value());
  ASSERT_TRUE(flight.take(pause).has_value());
  flight.landed(*first);
  EXPECT_TRUE(flight.take(pause + 1_ns).has_value()) << "after the first ones nothing is delayed";
  EXPECT_EQ(flight.paused_until(), pause + 1_ns) << "no further pause";
}

TEST_F(FlightTest, AfterAnErrorNothingMoreIsSent) {
  for (const std::size_t limit : {0, 1}) {
    Flight stopped = flight("alternate", limit);
    ASSERT_TRUE(stopped.take(0_s).has_value());
    stopped.stop();
    EXPECT_TRUE(stopped.over());
    EXPECT_FALSE(stopped.take(0_s).has_value());
  }
}

TEST_F(FlightTest, WhatServersSaidOfTheirLoadDecides) {
  std::vector<ServerLoad> said(3);
  // 10 ms for 512 bytes; the second is idle, the others are not.
  said[0].heard(wire::Load(50'000, 20'000'000), 1_s);
  said[1].heard(wire::Load(0, 20'000'000), 1_s);
  said[2].heard(wire::Load(70'000, 20'000'000), 1_s);
  for (const ServerLoad& each : said) loads_.push_back(&each);
  Flight now = flight("load");
  EXPECT_EQ(pieces_[*now.take(1_s)].slot, 1U);
  EXPECT_EQ(pieces_[*now.take(1_s)].slot, 1U) << "idle after the first piece, before the others";
  EXPECT_EQ(pieces_[*now.take(1_s)].slot, 0U) << "nothing is left for the second; shorter than the third's";
  Flight later = flight("load");
  EXPECT_EQ(pieces_[*later.take(2_s)].slot, 0U) << "all are idle by now: the one with the most to come";
}

}  // namespace
}  // namespace tutti
