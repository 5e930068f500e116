#include "client/transfer/order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti {
namespace {

// The last server first, one after the other.
class BackwardOrder : public TargetOrder {
 public:
  [[nodiscard]] std::string name() const override { return "backward"; }
  void arrange(std::span<Target> targets, const VisitFacts& facts) const override {
    EXPECT_EQ(facts.client, 7U);
    std::reverse(targets.begin(), targets.end());
  }
  [[nodiscard]] bool alternates() const override { return false; }
};

Shares three_shares() {
  const Extent whole{64_KiB, 192_KiB};
  const Segment memory{4096, 192 << 10};
  return split(Layout{64_KiB, 4, 2, 4}, {&whole, 1}, {&memory, 1});
}

TEST(Order, AlternateIsTheDefaultAndVisitsInOrderOfFirstTouch) {
  const auto order = make_target_order(kDefaultTargetOrder);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ((*order)->name(), "alternate");
  const Visits visits = order_visits(**order, Layout{64_KiB, 4, 2, 4}, three_shares(), {});
  EXPECT_TRUE(visits.alternate);
  ASSERT_EQ(visits.targets.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(visits.targets[i].share, i);
    EXPECT_EQ(visits.targets[i].server, (2 + 1 + i) % 4) << "a server's number, not its slot";
    EXPECT_EQ(visits.targets[i].length, 64_KiB);
  }
}

TEST(Order, APolicyDecidesOnTheOrderOfTheServers) {
  VisitFacts facts;
  facts.client = 7;
  const Visits visits = order_visits(BackwardOrder(), Layout{64_KiB, 4, 2, 4}, three_shares(), facts);
  EXPECT_FALSE(visits.alternate);
  ASSERT_EQ(visits.targets.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(visits.targets[i].share, 2 - i);
}

TEST(Order, UnknownNamesAreRefusedAndTheKnownListed) {
  const auto order = make_target_order("sideways");
  EXPECT_EQ(order.code(), Code::invalid);
  EXPECT_NE(order.status().message().find("alternate"), std::string::npos) << order.status().message();
  for (const std::string& name : target_order_names()) {
    const auto known = make_target_order(name);
    ASSERT_TRUE(known.ok()) << name;
    EXPECT_EQ((*known)->name(), name);
  }
}

}  // namespace
}  // namespace tutti
