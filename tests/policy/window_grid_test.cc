#include "policy/request/window_grid.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "policy/request/window.h"
#include "tests/policy/one_server.h"

namespace tutti {
namespace {

using test::kSomeDay;

// A second in which `present` requests are always there and each leaves after `residence`.
void busy_second(WindowGrid& grid, Nanos& now, std::size_t present, Nanos residence) {
  grid.elapsed(0, now);
  now += 1_s;
  grid.elapsed(present, now);
  const std::int64_t done = static_cast<std::int64_t>(present) * 1'000'000'000 / residence.count();
  for (std::int64_t i = 0; i < done; ++i) grid.finished();
}

TEST(WindowGrid, AFixedIntervalNeverMoves) {
  WindowGrid grid(250_ms);
  Nanos now;
  for (int i = 0; i < 10; ++i) {
    busy_second(grid, now, 1000, 5_s);
    const TimeWindow window = grid.place(kSomeDay + now);
    EXPECT_EQ(window.number, static_cast<std::uint64_t>((kSomeDay + now).millis()) / 250);
    EXPECT_EQ(window.start, window.number);
  }
  EXPECT_EQ(grid.interval(), 250_ms);
}

TEST(WindowGrid, TheIntervalFollowsTheTimeThatRequestsTake) {
  WindowGrid grid(1000_ms, 250_ms, 2000_ms, 16);
  Nanos now;
  const auto settle = [&](std::size_t present, Nanos residence) {
    for (int i = 0; i < 8; ++i) {
      busy_second(grid, now, present, residence);
      grid.place(kSomeDay + now);
    }
    return grid.interval();
  };
  EXPECT_EQ(settle(100, 60_ms), 1000_ms);
  EXPECT_EQ(settle(100, 2_ms), 250_ms);
  EXPECT_EQ(settle(100, 28_ms), 500_ms);
  EXPECT_EQ(settle(100, 120_ms), 2000_ms);
  EXPECT_EQ(settle(100, 30_s), 2000_ms);
  EXPECT_EQ(settle(100, 100_ms), 2000_ms) << "inside the band";
  EXPECT_EQ(settle(100, 28_ms), 500_ms);
  EXPECT_EQ(settle(100, 14_ms), 250_ms);
}

TEST(WindowGrid, AnIdleServerKeepsItsInterval) {
  WindowGrid grid(1000_ms, 250_ms, 2000_ms, 16);
  for (int i = 0; i < 10; ++i) {
    grid.elapsed(0, 1_s * i);
    grid.place(kSomeDay + 1_s * i);
  }
  EXPECT_EQ(grid.interval(), 1000_ms);
}

// Two servers under different loads: whatever lies in different windows of the longest interval has the same
// order on both, and neither server's windows overlap or move.
TEST(WindowGrid, WindowsOfServersThatDifferNest) {
  WindowGrid one(1000_ms, 250_ms, 2000_ms, 16);
  WindowGrid other(1000_ms, 250_ms, 2000_ms, 16);
  Random random(11);
  Nanos now_one;
  Nanos now_other;
  struct Placed {
    std::int64_t time;
    TimeWindow one;
    TimeWindow other;
  };
  std::vector<Placed> all;
  for (int second = 0; second < 60; ++second) {
    busy_second(one, now_one, 50, Nanos(static_cast<std::int64_t>(random.between(2'000'000, 400'000'000))));
    busy_second(other, now_other, 50,
                Nanos(static_cast<std::int64_t>(random.between(2'000'000, 400'000'000))));
    for (int i = 0; i < 20; ++i) {
      // In time or late, as requests of slow clients are.
      const Nanos time = kSomeDay + now_one - Nanos(static_cast<std::int64_t>(random.below(3'000'000'000)));
      all.push_back({time.millis(), one.place(time), other.place(time)});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) { return a.time < b.time; });
  bool differed = false;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Placed& before = all[i - 1];
    const Placed& after = all[i];
    EXPECT_LE(before.one.start, after.one.start);
    EXPECT_LE(before.other.start, after.other.start);
    // Equal, or apart without overlap.
    EXPECT_TRUE(before.one.start == after.one.start ||
                before.one.start + before.one.grains <= after.one.start);
    // Aligned: the end of a window of one server is never inside a smaller one of the other.
    EXPECT_EQ(after.one.start % after.one.grains, 0U);
    EXPECT_EQ(after.other.start % after.other.grains, 0U);
    if (before.time / 2000 < after.time / 2000) {
      EXPECT_LT(before.one.start, after.one.start);
      EXPECT_LT(before.other.start, after.other.start);
    }
    differed = differed || after.one.grains != after.other.grains;
  }
  EXPECT_TRUE(differed);
}

// The whole policy: 40 clients that ask again as soon as they are served, 1 ms for each request.
TEST(WindowAdaptive, AClosedLoopGetsAWindowOfAboutTheRoundsAskedFor) {
  WindowOptions options;
  options.adaptive = true;
  options.interval = 250_ms;
  options.min_interval = 250_ms;
  options.max_interval = 2000_ms;
  options.rounds = 16;
  WindowPolicy policy(options);
  Nanos now;
  std::uint64_t id = 0;
  for (std::uint64_t client = 0; client < 40; ++client) {
    policy.add(test::make_request(++id, client % 4, kSomeDay + now), now);
  }
  for (int i = 0; i < 4000; ++i) {
    const Decision decision = policy.next(now);
    ASSERT_EQ(decision.kind, Decision::Kind::dispatch);
    now += 1_ms;
    policy.served(decision.id, 4_KiB, true, now);
    ++id;
    policy.add(test::make_request(id, id % 4, kSomeDay + now), now);
  }
  EXPECT_EQ(policy.counters().interval, 500_ms) << "16 * 40 ms, and the nearest step";
}

}  // namespace
}  // namespace tutti
