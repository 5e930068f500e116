#include "policy/target/stagger.h"

#include <gtest/gtest.h>

#include <set>

namespace tutti {
namespace {

constexpr ForeignStriping kStriping{64_KiB, 4};

TEST(Stagger, EveryRankBeginsAtAServerOfItsOwn) {
  std::set<std::uint64_t> servers;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const auto parts = staggered({1_MiB * rank, 1_MiB}, kStriping, rank);
    servers.insert(parts[0].offset / 64_KiB % 4);
    EXPECT_EQ(parts[0].length + parts[1].length, 1_MiB);
    EXPECT_EQ(parts[0].end(), 1_MiB * (rank + 1));
    if (parts[1].length > 0_B) {
      EXPECT_EQ(parts[1].offset, 1_MiB * rank);
      EXPECT_EQ(parts[1].end(), parts[0].offset);
    }
  }
  EXPECT_EQ(servers.size(), 4U);
}

TEST(Stagger, WhatHasNoStripeOfThatServerGoesAsItIs) {
  const Extent small{10_KiB, 100_KiB};
  EXPECT_EQ(staggered(small, kStriping, 3)[0], small);
  EXPECT_EQ(staggered(small, kStriping, 0)[0], small) << "it begins there already";
  EXPECT_EQ(staggered(small, kStriping, 1)[0], (Extent{64_KiB, 46_KiB}));
  EXPECT_EQ(staggered(small, kStriping, 1)[1], (Extent{10_KiB, 54_KiB}));
}

TEST(Stagger, UnknownStripingChangesNothing) {
  const Extent range{0_B, 8_MiB};
  for (const ForeignStriping& striping :
       {ForeignStriping{}, ForeignStriping{64_KiB, 1}, ForeignStriping{0_B, 4}}) {
    EXPECT_EQ(staggered(range, striping, 2)[0], range);
    EXPECT_EQ(staggered(range, striping, 2)[1].length, 0_B);
  }
}

}  // namespace
}  // namespace tutti
