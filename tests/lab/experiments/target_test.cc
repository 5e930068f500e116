// Small versions of the experiments on the order of visiting.
#include <gtest/gtest.h>

#include "lab/experiments/target/nodes.h"

namespace tutti {
namespace {

double seconds(const TargetPoint& point) {
  const auto result = run_point(point);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? result->seconds : 0;
}

TargetPoint letter(const std::string& order, Bytes block, bool write = true) {
  TargetPoint point = paper_point(false);
  point.clients = contiguous(8, 32_MiB);
  point.write = write;
  to_the_letter(point, order, block);
  return point;
}

TEST(TargetExperiments, ClientsThatAllBeginAtTheFirstServerMakeAPipeline) {
  const double hash = seconds(letter("hash", 4_MiB));
  EXPECT_NEAR(hash / seconds(letter("first", 4_MiB)), 8.0 / 15, 0.03);
  EXPECT_NEAR(hash, bound(letter("hash", 4_MiB)), 0.01);
}

TEST(TargetExperiments, ServersThatDecideForThemselvesSpreadTheirReads) {
  const double hash = seconds(letter("hash", 64_KiB, false));
  EXPECT_LT(hash, 1.1 * bound(letter("hash", 64_KiB, false)));
  EXPECT_GT(seconds(letter("first", 1_MiB, false)), 2 * hash) << "all of them turn to the same client";
}

TEST(TargetExperiments, LoadsAreWhatTheySayTheyAre) {
  Bytes sum;
  for (const ClientLoad& load : btio(9)) {
    sum += load.bytes();
    EXPECT_EQ(load.extents.size(), 3U * 54 * 54);
    EXPECT_EQ(load.extents.front().length, 2160_B);
    for (std::size_t i = 1; i < load.extents.size(); ++i)
      EXPECT_GE(load.extents[i].offset, load.extents[i - 1].end()) << "ascending";
  }
  EXPECT_EQ(sum, Bytes(162 * 162 * 162 * 40));
  EXPECT_EQ(btio(4).front().extents.front().length, 3240_B);
  const auto once = irregular(16, 16, 5);
  const auto again = irregular(16, 16, 5);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].extents, again[i].extents);
}

TEST(TargetExperiments, TheSameSeedGivesTheSameTime) {
  TargetPoint point = letter("random", 1_MiB);
  point.seed = 3;
  const double once = seconds(point);
  EXPECT_EQ(seconds(point), once);
}

}  // namespace
}  // namespace tutti
