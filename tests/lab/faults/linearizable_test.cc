#include "lab/faults/linearizable.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "lab/faults/history_run.h"

namespace tutti {
namespace {

using Kind = HistoryOperation::Kind;
constexpr std::uint64_t kNever = HistoryOperation::kNever;

HistoryOperation write(std::uint64_t begin, std::uint64_t end, std::uint32_t value, std::uint64_t first = 0,
                       std::uint64_t count = 1) {
  return {.kind = Kind::write, .begin = begin, .end = end, .first = first, .count = count, .value = value};
}
HistoryOperation truncate(std::uint64_t begin, std::uint64_t end, std::uint64_t length) {
  return {.kind = Kind::truncate, .begin = begin, .end = end, .first = length};
}
HistoryOperation read(std::uint64_t begin, std::uint64_t end, std::vector<std::uint32_t> seen,
                      std::uint64_t first = 0, std::uint64_t count = 1) {
  return {.kind = Kind::read, .begin = begin, .end = end, .first = first, .count = count, .seen = seen};
}

bool good(std::vector<HistoryOperation> history) {
  const bool whole = linearizable(history).ok();
  EXPECT_TRUE(!whole || linearizable_blocks(history, 4).ok()) << "what holds for all holds for each";
  return whole;
}

TEST(Linearizable, OneAfterTheOther) {
  EXPECT_TRUE(good({write(1, 2, 7), read(3, 4, {7})}));
  EXPECT_FALSE(good({write(1, 2, 7), read(3, 4, {0})}));
  EXPECT_FALSE(good({write(1, 2, 7), read(3, 4, {})}));
  EXPECT_TRUE(good({read(1, 2, {}), write(3, 4, 7)}));
}

TEST(Linearizable, OverlappingOnesMayComeInEitherOrder) {
  EXPECT_TRUE(good({write(1, 5, 7), write(2, 6, 8), read(7, 8, {7})}));
  EXPECT_TRUE(good({write(1, 5, 7), write(2, 6, 8), read(7, 8, {8})}));
  EXPECT_FALSE(good({write(1, 5, 7), write(2, 6, 8), read(7, 8, {7}), read(9, 10, {8})}));
}

TEST(Linearizable, WhatWasSeenStays) {
  EXPECT_FALSE(good({write(1, 10, 7), read(2, 3, {7}), read(4, 5, {})}));
}

TEST(Linearizable, AnOperationInDoubtMayTakePlaceLateOrNever) {
  EXPECT_TRUE(good({write(1, 2, 7), write(3, kNever, 8), read(4, 5, {7}), read(6, 7, {8})}));
  EXPECT_TRUE(good({write(1, 2, 7), write(3, kNever, 8), read(4, 5, {7}), read(6, 7, {7})}));
  EXPECT_FALSE(good({write(1, 2, 7), write(3, kNever, 8), read(4, 5, {8}), read(6, 7, {7})}))
      << "but not twice, nor be undone";
}

TEST(Linearizable, ARepeatedWriteThatUndoesAnotherIsFound) {
  EXPECT_FALSE(good({write(1, 20, 7), read(2, 3, {7}), write(4, 5, 8), read(6, 7, {8}), read(8, 9, {7})}));
}

TEST(Linearizable, AHoleIsThereOnlyIfTheFileReachesBeyondIt) {
  EXPECT_FALSE(good({write(1, 2, 7, 0, 1), write(3, 6, 8, 1, 1), read(4, 5, {0}, 1, 1)}))
      << "the block of an append is written or not there";
  EXPECT_TRUE(good({write(1, 2, 7, 0, 1), write(3, 6, 8, 2, 1), read(4, 5, {0}, 1, 1)}));
}

TEST(Linearizable, ACutDoesNotComeBetweenThePartsOfAWriteOnOneServer) {
  EXPECT_FALSE(linearizable(std::vector<HistoryOperation>{write(1, 10, 7, 0, 2), truncate(2, 5, 0),
                                                          read(11, 12, {0, 7}, 0, 2)})
                   .ok());
  EXPECT_TRUE(good({write(1, 10, 7, 0, 2), truncate(2, 5, 0), read(11, 12, {7, 7}, 0, 2)}));
  EXPECT_TRUE(good({write(1, 10, 7, 0, 2), truncate(2, 5, 0), read(11, 12, {}, 0, 2)}));
}

TEST(Linearizable, BlocksOnSeveralServersAreJudgedOneByOne) {
  const std::vector<HistoryOperation> apart = {write(1, 10, 7, 0, 2), write(2, 9, 8, 0, 2),
                                               read(11, 12, {7, 8}, 0, 2)};
  EXPECT_FALSE(linearizable(apart).ok());
  EXPECT_TRUE(linearizable_blocks(apart, 2).ok());
}

// TUTTI_HISTORIES=1000 runs more of them.
TEST(Linearizable, HistoriesOfOverlappingOperationsUnderFaultsAre) {
  const char* more = std::getenv("TUTTI_HISTORIES");
  const std::uint64_t runs = more != nullptr ? std::strtoull(more, nullptr, 10) : 60;
  std::uint64_t overlapping = 0;
  std::uint64_t in_doubt = 0;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    const HistoryReport report = run_history(seed);
    EXPECT_TRUE(report.outcome.ok()) << "seed " << seed << ": " << report.outcome.to_string();
    EXPECT_GT(report.history.size(), 10U);
    overlapping += report.overlapping;
    in_doubt += report.in_doubt;
  }
  std::cout << runs << " histories: " << overlapping << " overlapping pairs, " << in_doubt << " in doubt\n";
  EXPECT_GT(overlapping, runs * 5);
}

}  // namespace
}  // namespace tutti
