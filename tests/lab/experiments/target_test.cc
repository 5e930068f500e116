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

// All servers begin with the client that asked first. With blocks no larger than the network's chunk they go apart one by one, which
// costs n - 1 steps of m; the two orders are then the same.
TEST(TargetExperiments, ServersThatDecideForThemselvesSpreadTheirReads) {
  const double m = 32.0 * 1024 / 64;
  const double least = bound(letter("hash", 64_KiB, false));
  const double hash = seconds(letter("hash", 64_KiB, false));
  EXPECT_NEAR(hash / least, (m + 7) / m, 0.01);
  EXPECT_NEAR(seconds(letter("first", 64_KiB, false)) / hash, 1, 0.02);
}

// Larger blocks come in chunks that share the client's card: servers that send to the same client end together and turn to
// the next one together, in either order. So it takes longer than n - 1 steps until they are apart.
TEST(TargetExperiments, LargeBlocksKeepServersAtTheSameClient) {
  const double m = 32;
  const double least = bound(letter("hash", 1_MiB, false));
  const double hash = seconds(letter("hash", 1_MiB, false));
  EXPECT_GT(hash / least, (m + 7) / m + 0.1);
  EXPECT_LT(hash / least, 8) << "one client at a time";
  EXPECT_NEAR(seconds(letter("first", 1_MiB, false)) / hash, 1, 0.03);
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
