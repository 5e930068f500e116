#include "server/data/local_grants.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

constexpr std::uint64_t kAny = ~std::uint64_t{0};

TEST(LocalGrants, NobodyCountsMoreThanWasGranted) {
  LocalGrants grants;
  grants.add(100_KiB);
  LocalGrants::Told told = grants.told_reads(wire::Took((60_KiB).count(), 15, kAny, kAny));
  EXPECT_EQ(told.bytes, 60_KiB);
  EXPECT_EQ(told.count, 15U);
  told = grants.told_writes(wire::Took(0, 0, kAny, kAny));
  EXPECT_EQ(told.bytes, 40_KiB);
  EXPECT_EQ(told.count, (40_KiB).count()) << "a write has a byte at least";
  told = grants.told_reads(wire::Took(1, 1, 0, 0));
  EXPECT_EQ(told.count, 0U);
}

TEST(LocalGrants, WhatIsGrantedAndNotToldIsBounded) {
  LocalGrants grants;
  for (int i = 0; i < 1000; ++i) grants.add(4_MiB);
  EXPECT_EQ(grants.told_writes(wire::Took(0, 0, kAny, 1)).bytes, 1_GiB);
}

}  // namespace
}  // namespace tutti
