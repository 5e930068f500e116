#include "server/data/backlog.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(Backlog, SaysHowLongWhatIsHereLasts) {
  Backlog backlog;
  EXPECT_EQ(backlog.wait(), 0_s) << "nothing is known";
  for (int i = 0; i < 4; ++i) backlog.arrived(1_MiB, 1_s);
  backlog.left(1_MiB, true, 1_s + 10_ms);
  backlog.left(1_MiB, true, 1_s + 20_ms);
  // 10 ms for 1 MiB, and two are left.
  EXPECT_NEAR(static_cast<double>(backlog.pace()), 10e6 / 1024, 1);
  EXPECT_NEAR(backlog.wait().seconds(), 0.020, 0.0001);
  backlog.left(1_MiB, true, 1_s + 30_ms);
  backlog.left(1_MiB, true, 1_s + 40_ms);
  EXPECT_EQ(backlog.wait(), 0_s);
}

TEST(Backlog, IdleTimeIsNotSlowness) {
  Backlog backlog;
  for (int i = 0; i < 10; ++i) {
    const Nanos begin = 100_s * i;
    backlog.arrived(1_MiB, begin);
    backlog.left(1_MiB, true, begin + 5_ms);
  }
  EXPECT_NEAR(static_cast<double>(backlog.pace()), 5e6 / 1024, 1);
}

TEST(Backlog, TheRecentPastCountsMore) {
  Backlog backlog;
  Nanos now = 1_s;
  const auto serve = [&](Nanos time, int count) {
    for (int i = 0; i < count; ++i) {
      backlog.arrived(1_MiB, now);
      now += time;
      backlog.left(1_MiB, true, now);
    }
  };
  serve(1_ms, 1000);
  serve(20_ms, 100);
  EXPECT_GT(static_cast<double>(backlog.pace()), 0.8 * 20e6 / 1024);
}

TEST(Backlog, WhatIsDroppedIsGoneAndSaysNothingOfThePace) {
  Backlog backlog;
  backlog.arrived(1_MiB, 1_s);
  backlog.arrived(1_MiB, 1_s);
  backlog.left(1_MiB, true, 1_s + 10_ms);
  backlog.left(1_MiB, false, 1_s + 10_ms);
  EXPECT_EQ(backlog.wait(), 0_s);
  EXPECT_NEAR(static_cast<double>(backlog.pace()), 10e6 / 1024, 1);
}

}  // namespace
}  // namespace tutti
