#include "server/data/accounting.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "server/data/recent_rate.h"

namespace tutti {
namespace {

using Row = Accounting::Row;

Nanos waited(const Row& row, std::uint64_t application) {
  for (const auto& each : row.waited_for) {
    if (!each.others && each.application == application) return each.time;
  }
  return {};
}

TEST(Accounting, TimeInQueueIsAccountedToWhoWasServedMeanwhile) {
  Accounting accounting;
  const auto first = accounting.arrived(7, "ior", "job1", 0_s);
  accounting.started(first, 0_s);
  const auto second = accounting.arrived(9, "madbench", "", 1_s);
  const auto third = accounting.arrived(9, "madbench", "", 2_s);
  EXPECT_EQ(second, third);
  accounting.ended(first, 4_s);
  accounting.count(first, true, 100_B);
  accounting.started(second, 4_s);
  accounting.ended(second, 5_s);
  accounting.started(third, 5_s);
  accounting.ended(third, 7_s);
  accounting.count(third, false, 5_B);
  const auto rows = accounting.rows(10_s);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].application, 7U);
  EXPECT_EQ(rows[0].program, "ior");
  EXPECT_EQ(rows[0].job, "job1");
  EXPECT_EQ(rows[0].served, 4_s);
  EXPECT_EQ(rows[0].time_in_queue, 0_s);
  EXPECT_EQ(rows[0].writes, 1U);
  EXPECT_EQ(rows[0].bytes_written, 100_B);
  EXPECT_EQ(rows[1].served, 3_s);
  EXPECT_EQ(rows[1].time_in_queue, 6_s) << "3 s each";
  EXPECT_EQ(waited(rows[1], 7), 5_s);
  EXPECT_EQ(waited(rows[1], 9), 1_s);
}

TEST(Accounting, KnowsWhetherOthersWait) {
  Accounting accounting;
  EXPECT_TRUE(accounting.nobody_but(7));
  const auto own = accounting.arrived(7, "", "", 0_s);
  EXPECT_TRUE(accounting.nobody_but(7));
  EXPECT_FALSE(accounting.nobody_but(8));
  const auto other = accounting.arrived(9, "", "", 0_s);
  EXPECT_FALSE(accounting.nobody_but(7));
  accounting.started(other, 1_s);
  EXPECT_FALSE(accounting.nobody_but(7));
  accounting.ended(other, 2_s);
  EXPECT_TRUE(accounting.nobody_but(7));
  accounting.dropped(own, 2_s);
  // One of the many that have no account of their own.
  for (std::uint64_t id = 100; id < 100 + Accounting::kMostApplications; ++id)
    accounting.arrived(id, "", "", 3_s);
  const auto crowd = accounting.arrived(7, "", "", 3_s);
  EXPECT_EQ(crowd, Accounting::kOthers);
  EXPECT_FALSE(accounting.nobody_but(7));
}

TEST(Accounting, SeveralInServiceShareTheTime) {
  Accounting accounting;
  const auto a = accounting.arrived(1, "", "", 0_s);
  const auto b = accounting.arrived(2, "", "", 0_s);
  accounting.started(a, 0_s);
  accounting.started(b, 0_s);
  const auto c = accounting.arrived(3, "", "", 0_s);
  accounting.ended(a, 4_s);
  accounting.returned(b, 6_s);
  accounting.dropped(c, 8_s);
  const auto rows = accounting.rows(8_s);
  EXPECT_EQ(rows[0].served, 2_s);
  EXPECT_EQ(rows[1].served, 4_s);
  EXPECT_EQ(rows[1].time_in_queue, 2_s) << "after its quantum";
  EXPECT_TRUE(rows[1].waited_for.empty()) << "nobody was served";
  EXPECT_EQ(waited(rows[2], 1), 2_s);
  EXPECT_EQ(waited(rows[2], 2), 4_s);
  EXPECT_EQ(rows[2].time_in_queue, 8_s);
}

TEST(Accounting, ApplicationsBeyondTheLimitAreOneAndNothingIsLost) {
  Accounting accounting;
  constexpr std::uint64_t kMany = 3 * Accounting::kMostApplications;
  Nanos now;
  for (std::uint64_t application = 0; application < kMany; ++application) {
    const auto other = accounting.arrived(1000, "", "", now);
    const auto slot = accounting.arrived(application, "", "", now);
    accounting.started(slot, now);
    now += 1_s;
    accounting.ended(slot, now);
    accounting.count(slot, true, 10_B);
    accounting.started(other, now);
    accounting.ended(other, now);
    accounting.count(other, true, 1_B);
  }
  const auto rows = accounting.rows(now);
  ASSERT_EQ(rows.size(), Accounting::kMostApplications + 1);
  Nanos served;
  Nanos waited_for;
  Bytes bytes;
  for (const Row& row : rows) {
    served += row.served;
    bytes += row.bytes_written;
    for (const auto& each : row.waited_for) waited_for += each.time;
  }
  EXPECT_EQ(served, now);
  EXPECT_EQ(waited_for, now) << "application 1000 waited for each of them";
  EXPECT_EQ(bytes, Bytes(kMany * 11));
  EXPECT_TRUE(rows.back().others);
  EXPECT_EQ(rows.back().writes, kMany + 1 - Accounting::kMostApplications);
}

TEST(Accounting, WhoHasSomethingHereKeepsItsAccount) {
  Accounting accounting;
  std::vector<Accounting::Slot> slots;
  for (std::uint64_t application = 0; application < Accounting::kMostApplications; ++application) {
    slots.push_back(accounting.arrived(application, "", "", 0_s));
  }
  EXPECT_EQ(accounting.arrived(9999, "", "", 0_s), Accounting::kOthers);
  accounting.dropped(slots[5], 1_s);
  EXPECT_EQ(accounting.arrived(8888, "", "", 1_s), slots[5]);
  const auto rows = accounting.rows(2_s);
  EXPECT_TRUE(rows.back().others);
  EXPECT_EQ(rows.back().time_in_queue, 3_s) << "two of 9999, one of application 5";
}

// Against a direct computation: for every moment, every waiting request and every request in service.
TEST(Accounting, AgreesWithAStepByStepCount) {
  constexpr std::size_t kApplications = 5;
  Random random(3);
  Accounting accounting;
  std::vector<Accounting::Slot> slots;
  std::array<std::size_t, kApplications> queued{};
  std::array<std::size_t, kApplications> serving{};
  std::array<std::array<double, kApplications>, kApplications> expected{};
  Nanos now;
  for (std::size_t a = 0; a < kApplications; ++a) {
    slots.push_back(accounting.arrived(a, "", "", now));
    ++queued[a];
  }
  for (int step = 0; step < 2000; ++step) {
    const Nanos passed = Nanos(static_cast<std::int64_t>(random.below(1000)));
    std::size_t all = 0;
    for (const std::size_t count : serving) all += count;
    for (std::size_t b = 0; b < kApplications; ++b) {
      for (std::size_t a = 0; a < kApplications && all > 0; ++a) {
        expected[b][a] += static_cast<double>(queued[b] * serving[a]) / static_cast<double>(all) *
                          static_cast<double>(passed.count());
      }
    }
    now += passed;
    const std::size_t a = random.below(kApplications);
    const std::uint64_t what = random.below(4);
    if (what == 0) {
      slots[a] = accounting.arrived(a, "", "", now);
      ++queued[a];
    } else if (what == 1 && queued[a] > 0) {
      accounting.started(slots[a], now);
      --queued[a];
      ++serving[a];
    } else if (what == 2 && serving[a] > 0) {
      accounting.returned(slots[a], now);
      --serving[a];
      ++queued[a];
    } else if (what == 3 && serving[a] > 0) {
      accounting.ended(slots[a], now);
      --serving[a];
    }
  }
  const auto rows = accounting.rows(now);
  for (std::size_t b = 0; b < kApplications; ++b) {
    for (std::size_t a = 0; a < kApplications; ++a) {
      EXPECT_NEAR(static_cast<double>(waited(rows[b], a).count()), expected[b][a], 1 + expected[b][a] * 1e-9);
    }
  }
}

TEST(RecentRate, CountsTheLastTenSeconds) {
  RecentRate rate(100_s);
  EXPECT_EQ(rate.per_second(100_s), 0);
  for (int i = 0; i < 50; ++i) rate.note(100_s + 10_ms * i);
  EXPECT_DOUBLE_EQ(rate.per_second(100_s + 500_ms), 50) << "less than a second counts as one";
  EXPECT_DOUBLE_EQ(rate.per_second(105_s), 10);
  EXPECT_DOUBLE_EQ(rate.per_second(109_s), 50.0 / 9);
  EXPECT_DOUBLE_EQ(rate.per_second(110_s), 0);
  rate.note(1000_s);
  EXPECT_NEAR(rate.per_second(1000_s + 999_ms), 0.1, 0.001);
}

}  // namespace
}  // namespace tutti
