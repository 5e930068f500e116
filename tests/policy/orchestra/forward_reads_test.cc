#include "policy/orchestra/forward_reads.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace tutti {
namespace {

constexpr std::uint64_t kProgram = 7;
constexpr std::uint64_t kObject = 3;

std::optional<Extent> read(ForwardReads& forward, Bytes offset, Bytes length,
                           std::uint64_t program = kProgram, Bytes block = 4_MiB) {
  const Extent extent{offset, length};
  return forward.read(program, kObject, {&extent, 1}, block);
}

// Reads on from `from`; returns what was fetched, joined.
Extent read_on(ForwardReads& forward, Bytes from, Bytes step, int times, Bytes block = 4_MiB) {
  Extent all;
  for (int i = 0; i < times; ++i) {
    const auto fetched = read(forward, from + step * static_cast<std::uint64_t>(i), 64_KiB, kProgram, block);
    if (!fetched) continue;
    if (all.length == 0_B) all.offset = fetched->offset;
    all.length = fetched->end() - all.offset;
  }
  return all;
}

TEST(ForwardReads, AProgramThatReadsOnHasBlocksFetchedAheadOfIt) {
  ForwardReads forward;
  const Extent fetched = read_on(forward, 0_B, 64_KiB, 1000);
  EXPECT_LE(fetched.offset, 1_MiB);
  EXPECT_GE(fetched.end(), 64_KiB * 1000 + 4_MiB);
  EXPECT_LE(fetched.end(), 64_KiB * 1000 + 8_MiB);
}

TEST(ForwardReads, TheOrderWithinANeighbourhoodDoesNotMatter) {
  ForwardReads forward;
  Random random(5);
  std::uint64_t fetched = 0;
  for (std::uint64_t group = 0; group < 100; ++group) {
    const std::uint64_t first = random.below(5);
    for (std::uint64_t i = 0; i < 5; ++i)
      fetched += read(forward, 64_KiB * (group * 5 + (first + i * 2) % 5), 64_KiB).has_value() ? 1 : 0;
  }
  EXPECT_GE(fetched, 8U);
}

TEST(ForwardReads, HolesThatAreQuickerReadThanJumpedOverDoNotEndIt) {
  ForwardReads forward;
  EXPECT_GT(read_on(forward, 0_B, 320_KiB, 100).length, 4_MiB);
  ForwardReads sparse;
  EXPECT_EQ(read_on(sparse, 0_B, 2_MiB, 100).length, 0_B);
}

TEST(ForwardReads, ReadsHereAndThereFetchNothing) {
  ForwardReads forward;
  Random random(5);
  for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(read(forward, 1_MiB * random.below(1'000'000), 1_MiB));
  EXPECT_LE(forward.runs(), ForwardReads::kRuns);
}

TEST(ForwardReads, ReadingTheSameAgainFetchesNothing) {
  ForwardReads forward;
  read_on(forward, 0_B, 64_KiB, 100);
  std::uint64_t fetched = 0;
  for (int i = 0; i < 100; ++i) fetched += read(forward, 64_KiB * 50U, 64_KiB).has_value() ? 1 : 0;
  EXPECT_EQ(fetched, 0U);
}

TEST(ForwardReads, ProgramsAndPartsOfAFileAreRunsOfTheirOwn) {
  ForwardReads forward;
  std::uint64_t fetched = 0;
  for (std::uint64_t i = 0; i < 64; ++i) {
    fetched += read(forward, 64_KiB * i, 64_KiB, 1, 1_MiB).has_value() ? 1 : 0;
    fetched += read(forward, 1_GiB + 64_KiB * i, 64_KiB, 1, 1_MiB).has_value() ? 1 : 0;
    fetched += read(forward, 64_KiB * i, 64_KiB, 2, 1_MiB).has_value() ? 1 : 0;
  }
  EXPECT_EQ(forward.runs(), 3U);
  EXPECT_GE(fetched, 9U);
}

// Bursts of 1 MiB an object, of several applications, lost 2 % by what was fetched ahead of their ends (coord-apps).
TEST(ForwardReads, AnEighthOfABlockIsReadBeforeAnythingIsFetched) {
  ForwardReads forward;
  EXPECT_EQ(read_on(forward, 0_B, 64_KiB, 15, 8_MiB).length, 0_B);
  const auto first = read(forward, 64_KiB * 15U, 64_KiB, kProgram, 8_MiB);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->offset, 1_MiB);
  EXPECT_EQ(first->length, ForwardReads::kFirst);
}

TEST(ForwardReads, WithoutABlockNothingIsFetched) {
  ForwardReads forward;
  EXPECT_EQ(read_on(forward, 0_B, 64_KiB, 100, 0_B).length, 0_B);
  EXPECT_EQ(forward.runs(), 0U);
}

}  // namespace
}  // namespace tutti
