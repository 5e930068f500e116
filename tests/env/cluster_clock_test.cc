#include "env/cluster_clock.h"

#include <gtest/gtest.h>

#include "env/sim/clock.h"

namespace tutti {
namespace {

class ClusterClockTest : public testing::Test {
 protected:
  // A question and its answer, `there` and `back` long, of a server whose wall clock is ahead of ours by `ahead`.
  void ask(Nanos there, Nanos back, Nanos ahead) {
    const Nanos sent = own_.now();
    pass(there);
    const Nanos server = true_time() + ahead;
    pass(back);
    cluster_.sample(sent, own_.now(), server);
  }
  void pass(Nanos length) { simulation_.run_until(simulation_.now() + length); }
  [[nodiscard]] Nanos true_time() const { return Simulation::kWallEpoch + own_.now(); }
  [[nodiscard]] Nanos off(Nanos ahead) const {
    const Nanos difference = cluster_.now() - (true_time() + ahead);
    return difference < 0_s ? -difference : difference;
  }

  Simulation simulation_{1};
  SimClock own_{simulation_};
  ClusterClock cluster_{own_};
};

TEST_F(ClusterClockTest, WithoutASampleTheOwnClockCounts) {
  own_.skew(5_s);
  EXPECT_EQ(cluster_.now(), own_.wall());
  EXPECT_EQ(cluster_.error(), Nanos::max());
}

TEST_F(ClusterClockTest, TheErrorIsWithinHalfTheRoundTrip) {
  ask(9_ms, 1_ms, 3_s);
  EXPECT_LE(off(3_s), 5_ms);
  EXPECT_GE(off(3_s), 1_ms) << "the way there was longer: it cannot know";
  EXPECT_GE(cluster_.error(), off(3_s));
}

TEST_F(ClusterClockTest, TheFastestAnswerCounts) {
  ask(100_us, 100_us, 3_s);
  ask(50_ms, 10_us, 3_s);
  EXPECT_LE(off(3_s), 100_us);
  EXPECT_EQ(cluster_.samples(), 2U);
}

TEST_F(ClusterClockTest, AnOldAnswerGivesWayBecauseClocksDrift) {
  ask(100_us, 100_us, 3_s);
  pass(1000_s);
  ask(1_ms, 1_ms, 3_s + 50_ms);
  EXPECT_LE(off(3_s + 50_ms), 1_ms);
}

TEST_F(ClusterClockTest, AClockThatWasSetIsFollowedAtOnce) {
  ask(100_us, 100_us, 3_s);
  ask(10_ms, 10_ms, 60_s);
  EXPECT_LE(off(60_s), 10_ms);
}

TEST_F(ClusterClockTest, AJumpOfTheOwnClockChangesNothing) {
  ask(100_us, 100_us, 3_s);
  own_.skew(-7200_s);
  EXPECT_LE(off(3_s), 100_us);
  EXPECT_EQ(cluster_.steady_at(cluster_.now() + 4_s), own_.now() + 4_s);
}

}  // namespace
}  // namespace tutti
