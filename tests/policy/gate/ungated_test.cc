#include "policy/gate/ungated.h"

#include <gtest/gtest.h>

namespace tutti::gate {
namespace {

// Any number of writers moves 100 MB/s together.
Rates even() {
  Rates rates;
  for (std::uint32_t n = 1; n <= 4; ++n) rates.observe({{n, 10}}, 1000e6 / n);
  return rates;
}

TEST(Ungated, WhoWritesAtTheSameTimeSharesEvenly) {
  const Rates rates = even();
  Ungated world(rates);
  world.ask(1, 1000e6, 0_s);
  world.ask(2, 100e6, 0_s);
  EXPECT_EQ(world.writing(), 2U);
  // 50 MB/s each: the small one ends after 2 s, the large one after 11.
  world.ask(3, 1e6, 30_s);
  EXPECT_NEAR(world.mean(2), 2, 0.01);
  EXPECT_NEAR(world.mean(1), 11, 0.01);
}

TEST(Ungated, AJobAsksAgainOnItsOwnTime) {
  const Rates rates = even();
  Ungated world(rates);
  world.ask(1, 100e6, 0_s);
  world.end(1, 5_s);          // here it took 5 s
  world.ask(1, 100e6, 15_s);  // and computed for 10; there it takes 1 s
  world.end(1, 20_s);
  // Without a gate its third began by itself; a fourth waits until it asks here for the third.
  world.ask(2, 1e6, 100_s);
  EXPECT_NEAR(world.mean(1), 1, 0.01);
  EXPECT_EQ(world.writing(), 1U);
}

// The faster of two waits for the slower each time: here that costs it 3 s every time, without a gate they meet once in a while.
TEST(Ungated, JobsThatDifferSlideThroughEachOther) {
  const Rates rates = even();
  Ungated world(rates);
  Nanos slow = 0_s;
  for (int i = 0; i < 40; ++i) {
    world.ask(1, 500e6, slow);        // writes for 5 s
    world.ask(2, 500e6, slow + 2_s);  // waits for 3 s, then writes for 5
    world.end(1, slow + 5_s);
    world.end(2, slow + 10_s);
    slow += 105_s;  // computes for 100 s; the other for 97
  }
  EXPECT_LT(world.mean(1), 6);
  EXPECT_LT(world.mean(2), 6);  // 8 here
}

TEST(Ungated, WhoLeavesIsNotThere) {
  const Rates rates = even();
  Ungated world(rates);
  world.ask(1, 1000e6, 0_s);
  world.ask(2, 1000e6, 0_s);
  world.leave(1, 0_s);
  world.ask(3, 1e6, 60_s);
  EXPECT_NEAR(world.mean(2), 10, 0.01);
  EXPECT_EQ(world.mean(1), 0);
}

}  // namespace
}  // namespace tutti::gate
