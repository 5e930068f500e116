#include "lab/faults/gate_schedule.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace tutti {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// TUTTI_GATE_SCHEDULES=10000 runs more of them, TUTTI_GATE_SEED=n only that one.
TEST(GateSchedule, NeverTwoValidHoldersNobodyWaitsForEverAndOrderIsKept) {
  const std::uint64_t only = from_environment("TUTTI_GATE_SEED", 0);
  const std::uint64_t first = only != 0 ? only : 1;
  const std::uint64_t schedules = only != 0 ? 1 : from_environment("TUTTI_GATE_SCHEDULES", 1000);
  GateCountsOfFaults sum;
  Nanos longest;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = first; seed < first + schedules && failed < 3; ++seed) {
    const GateReport report = run_gate_schedule(seed);
    sum.turns += report.counts.turns;
    sum.unguarded += report.counts.unguarded;
    sum.blocked += report.counts.blocked;
    sum.holding += report.counts.holding;
    sum.lost += report.counts.lost;
    sum.job_deaths += report.counts.job_deaths;
    sum.coordinator_deaths += report.counts.coordinator_deaths;
    sum.power_losses += report.counts.power_losses;
    sum.cuts += report.counts.cuts;
    longest = std::max(longest, report.longest_wait);
    failed += report.outcome.ok() ? 0 : 1;
    EXPECT_TRUE(report.outcome.ok()) << to_text(report);
  }
  std::cout << schedules << " schedules: " << sum.turns << " turns, " << sum.unguarded << " unguarded, "
            << sum.blocked << " blocked, " << sum.holding << " holding, " << sum.lost << " lost; "
            << sum.job_deaths << " deaths of jobs, " << sum.coordinator_deaths << " of the coordinator, "
            << sum.power_losses << " power losses, " << sum.cuts << " cuts; longest wait "
            << to_string(longest) << "\n";
  if (only != 0) return;
  // The faults bite, and turns are taken all the same.
  EXPECT_GT(sum.coordinator_deaths, schedules / 2);
  EXPECT_GT(sum.job_deaths, schedules / 2);
  EXPECT_GT(sum.turns, 10 * sum.unguarded);
}

TEST(GateSchedule, TheSameSeedGivesTheSameRun) {
  const GateReport first = run_gate_schedule(7);
  const GateReport second = run_gate_schedule(7);
  EXPECT_EQ(first.journal, second.journal);
  EXPECT_EQ(first.virtual_time, second.virtual_time);
}

}  // namespace
}  // namespace tutti
