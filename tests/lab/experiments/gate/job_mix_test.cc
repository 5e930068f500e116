#include "lab/experiments/gate/job_mix.h"

#include <gtest/gtest.h>

#include "lab/experiments/gate/timeline.h"

namespace tutti::gatelab {
namespace {

using Started = std::vector<std::uint64_t>;

TEST(BatchQueue, JobsStartInTheOrderOfSubmission) {
  BatchQueue queue(4);
  queue.submit(1, 2, 100_s);
  queue.submit(2, 2, 100_s);
  queue.submit(3, 2, 100_s);
  EXPECT_EQ(queue.start(0_s), (Started{1, 2}));
  EXPECT_EQ(queue.start(10_s), Started{});
  queue.ended(1);
  EXPECT_EQ(queue.start(20_s), Started{3});
  EXPECT_EQ(queue.free(), 0U);
}

TEST(BatchQueue, AJobThatEndsBeforeTheReservationIsBackfilled) {
  BatchQueue queue(4);
  queue.submit(1, 3, 100_s);
  queue.submit(2, 4, 100_s);  // has to wait for job 1, until 100 s at the latest
  queue.submit(3, 1, 200_s);  // would delay it
  queue.submit(4, 1, 50_s);   // does not
  EXPECT_EQ(queue.start(0_s), (Started{1, 4}));
  queue.ended(4);
  EXPECT_EQ(queue.start(50_s), Started{});
  queue.ended(1);
  EXPECT_EQ(queue.start(60_s), Started{2});
}

TEST(BatchQueue, SpareNodesAreFilledWhateverTheLimit) {
  BatchQueue queue(4);
  queue.submit(1, 2, 100_s);
  queue.submit(2, 3, 100_s);  // at 100 s, and one node is left over then
  queue.submit(3, 1, 1000_s);
  EXPECT_EQ(queue.start(0_s), (Started{1, 3}));
}

TEST(RandomMix, ValuesLieWithinTheirRangesAndRepeat) {
  MixRanges ranges;
  const auto mix = random_mix(200, ranges, Random(3));
  const auto again = random_mix(200, ranges, Random(3));
  ASSERT_EQ(mix.size(), 200U);
  for (std::size_t i = 0; i < mix.size(); ++i) {
    EXPECT_GE(mix[i].checkpoints, 4U);
    EXPECT_LE(mix[i].checkpoints, 10U);
    const Nanos computed = mix[i].compute * mix[i].checkpoints;
    EXPECT_GE(computed, 419_s);
    EXPECT_LE(computed, 540_s);
    EXPECT_LE(mix[i].start, 60_s);
    EXPECT_EQ(mix[i].checkpoint, again[i].checkpoint);
    EXPECT_EQ(mix[i].start, again[i].start);
  }
}

TEST(Timeline, WritesHaveTheirRateAbove) {
  const std::vector<Phase> phases = {{0, PhaseKind::compute, 0_s, 10_s, {}},
                                     {0, PhaseKind::write, 10_s, 20_s, Bytes(785'000'000)}};
  const std::string svg = timeline_svg("a <title>", {"job 1"}, phases);
  EXPECT_NE(svg.find(">78.5<"), std::string::npos);
  EXPECT_NE(svg.find("a &lt;title>"), std::string::npos);
  EXPECT_EQ(svg.substr(0, 4), "<svg");
}

}  // namespace
}  // namespace tutti::gatelab
