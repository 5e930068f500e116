#include "tests/env/sim/world.h"

#include "env/combine.h"
#include "env/sync.h"

namespace tutti {
namespace {

Task<int> after(Clock& clock, Nanos duration, int value) {
  co_await clock.sleep(duration);
  co_return value;
}

Task<void> note_time(Clock& clock, Nanos duration, Nanos& at) {
  co_await clock.sleep(duration);
  at = clock.now();
}

Task<int> wait_for_ever(Event& event) {
  co_await event.wait();
  co_return 1;
}

Task<void> wander(Clock& clock, Random random, int steps) {
  for (int i = 0; i < steps; ++i) co_await clock.sleep(random.exponential(1_ms));
}

TEST(Simulation, TimeJumpsToTheNextTimer) {
  Simulation simulation;
  SimClock clock(simulation);
  EXPECT_EQ(simulation.run(after(clock, 3600_s, 7)), 7);
  EXPECT_EQ(simulation.now(), 3600_s);
}

TEST(Simulation, RunEndsWhenNothingIsLeft) {
  Simulation simulation;
  SimClock clock(simulation);
  Nanos at;
  simulation.spawn(note_time(clock, 5_s, at));
  simulation.run();
  EXPECT_EQ(at, 5_s);
}

TEST(Simulation, DeadlockIsDetected) {
  Simulation simulation;
  Event never(simulation.executor());
  EXPECT_EQ(simulation.run(wait_for_ever(never)), std::nullopt);
}

TEST(Simulation, RunUntilStopsAtTheDeadline) {
  Simulation simulation;
  SimClock clock(simulation);
  Nanos early;
  Nanos late;
  simulation.spawn(note_time(clock, 2_s, early));
  simulation.spawn(note_time(clock, 4_s, late));
  simulation.run_until(3_s);
  EXPECT_EQ(simulation.now(), 3_s);
  EXPECT_EQ(early, 2_s);
  EXPECT_EQ(late, Nanos());
  EXPECT_TRUE(simulation.run_until([&] { return late > Nanos(); }));
  EXPECT_EQ(simulation.now(), 4_s);
  EXPECT_FALSE(simulation.run_until([] { return false; }));
}

TEST(Simulation, SameSeedGivesTheSameTraceAndAnotherSeedAnother) {
  const auto trace = [](std::uint64_t seed) {
    Simulation simulation(seed);
    SimClock clock(simulation);
    for (int i = 0; i < 20; ++i) simulation.spawn(wander(clock, simulation.random().fork(), 100));
    simulation.run();
    return simulation.trace();
  };
  EXPECT_EQ(trace(5), trace(5));
  EXPECT_NE(trace(5), trace(6));
}

TEST(SimClock, WallTimeIsSkewedAndDriftsWithoutTouchingSteadyTime) {
  Simulation simulation;
  SimClock straight(simulation);
  SimClock skewed(simulation);
  EXPECT_EQ(straight.wall(), Simulation::kWallEpoch);
  skewed.skew(-3_s, 100);
  simulation.run_until(10_s);
  EXPECT_EQ(skewed.now(), straight.now());
  EXPECT_EQ(skewed.wall() - straight.wall(), -3_s + 1_ms);
}

}  // namespace
}  // namespace tutti
