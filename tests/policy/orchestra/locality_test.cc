#include "policy/orchestra/locality.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

constexpr Dedicated kSlice{1_s, false};

bool begin(Locality& locality, std::uint64_t program, Bytes address, Bytes length, Nanos now = 0_s,
           std::optional<Dedicated> dedicated = {}) {
  const Stretch stretch{address, length};
  return locality.begin(program, {&stretch, 1}, true, length, dedicated, now);
}

TEST(RunningAverage, NewSamplesCountSevenEighths) {
  RunningAverage average(1.0 / 8);
  EXPECT_FALSE(average.known());
  average.add(800);
  EXPECT_DOUBLE_EQ(average.value(), 800);
  average.add(1600);
  EXPECT_DOUBLE_EQ(average.value(), 800.0 / 8 + 1600.0 * 7 / 8);
}

TEST(Locality, GapsGoFromStartToStartOfEachProgramAndOfAll) {
  Locality locality;
  EXPECT_FALSE(begin(locality, 7, 0_B, 64_KiB));
  EXPECT_TRUE(begin(locality, 8, 1_GiB, 64_KiB));
  EXPECT_TRUE(begin(locality, 7, 64_KiB, 64_KiB));
  EXPECT_EQ(locality.all().sums.gaps, 2U);
  EXPECT_EQ(locality.all().sums.distance, 1_GiB + 1_GiB - 64_KiB);
  EXPECT_EQ(locality.all().sums.far, 2U);
  EXPECT_EQ(locality.program(7)->sums.gaps, 1U);
  EXPECT_EQ(locality.program(7)->sums.distance, 64_KiB);
  EXPECT_EQ(locality.program(7)->sums.far, 0U);
  EXPECT_EQ(locality.program(8)->sums.gaps, 0U);
  EXPECT_EQ(locality.program(9), nullptr);
}

TEST(Locality, ALongRequestCountsAsSeveralPieces) {
  Locality locality(128_KiB);
  begin(locality, 7, 0_B, 512_KiB);
  EXPECT_EQ(locality.program(7)->sums.gaps, 3U);
  EXPECT_EQ(locality.program(7)->sums.distance, 384_KiB);
  // The next one follows on the last piece.
  begin(locality, 7, 512_KiB, 128_KiB);
  EXPECT_EQ(locality.program(7)->sums.gaps, 4U);
  EXPECT_EQ(locality.program(7)->sums.distance, 512_KiB);
}

TEST(Locality, WhatIsInMemoryIsNotSeenByTheDevice) {
  Locality locality;
  begin(locality, 7, 0_B, 64_KiB, 1_s, kSlice);
  locality.begin(7, {}, true, 64_KiB, kSlice, 1_s + 3_ms);
  EXPECT_EQ(locality.program(7)->sums.gaps, 0U);
  EXPECT_EQ(locality.program(7)->sums.reuses, 0U);
  begin(locality, 7, 64_KiB, 64_KiB, 1_s + 5_ms, kSlice);
  EXPECT_EQ(locality.program(7)->sums.reuse, 5_ms);
}

TEST(Locality, WithoutAddressesEveryRequestCountsAsComingBack) {
  Locality locality;
  locality.begin(7, {}, false, 64_KiB, kSlice, 1_s);
  locality.begin(7, {}, false, 64_KiB, kSlice, 1_s + 3_ms);
  EXPECT_EQ(locality.program(7)->sums.gaps, 0U);
  EXPECT_EQ(locality.program(7)->sums.reuse, 3_ms);
}

TEST(Locality, ReuseDistancesCountOnlyWithinASliceOfOnesOwn) {
  Locality locality;
  begin(locality, 7, 0_B, 64_KiB, 900_ms);
  begin(locality, 7, 0_B, 64_KiB, 1_s, kSlice);
  EXPECT_EQ(locality.program(7)->sums.reuses, 0U);
  begin(locality, 7, 0_B, 64_KiB, 1_s + 2_ms, kSlice);
  begin(locality, 7, 0_B, 64_KiB, 2_s, Dedicated{2_s, false});  // another slice
  EXPECT_EQ(locality.program(7)->sums.reuses, 1U);
  EXPECT_EQ(locality.program(7)->sums.reuse, 2_ms);
}

TEST(Locality, TheRestIsOneObject) {
  Locality locality;
  const Dedicated rest{1_s, true};
  begin(locality, 7, 0_B, 64_KiB, 1_s, rest);
  begin(locality, 8, 0_B, 64_KiB, 1_s + 4_ms, rest);
  EXPECT_EQ(locality.rest().sums.reuses, 1U);
  EXPECT_EQ(locality.rest().sums.reuse, 4_ms);
  EXPECT_EQ(locality.program(7)->sums.reuses, 0U);
}

TEST(Locality, APieceOfALongRequestCameBackAfterItsPartOfTheTime) {
  Locality locality(128_KiB);
  begin(locality, 7, 0_B, 512_KiB, 1_s, kSlice);
  begin(locality, 7, 512_KiB, 512_KiB, 1_s + 12_ms, kSlice);
  EXPECT_EQ(locality.program(7)->sums.reuses, 4U);
  EXPECT_EQ(locality.program(7)->sums.reuse, 12_ms);
}

TEST(JumpCost, IsWhatAFarRequestTakesLonger) {
  JumpCost cost(8_ms);
  EXPECT_EQ(cost.value(), 8_ms);
  for (int i = 0; i < 50; ++i) {
    cost.add(false, Bytes(1'000'000), 20_ms);
    cost.add(true, Bytes(1'000'000), 26_ms);
  }
  EXPECT_NEAR(cost.value().seconds(), 0.006, 0.0002);
}

}  // namespace
}  // namespace tutti
