#include "lab/faults/fault_schedule.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace tutti {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// TUTTI_SCHEDULES=1000 runs more of them, TUTTI_SCHEDULE_SEED=n only that one and tells everything.
TEST(FaultSchedule, NothingAcknowledgedIsLostAndEveryOperationEnds) {
  if (const std::uint64_t seed = from_environment("TUTTI_SCHEDULE_SEED", 0); seed != 0) {
    const FaultReport report = run_fault_schedule(seed, true);
    std::cout << to_text(report);
    if (report.outcome.ok()) {
      for (const std::string& line : report.journal) std::cout << line << "\n";
    }
    EXPECT_TRUE(report.outcome.ok());
    return;
  }
  const std::uint64_t schedules = from_environment("TUTTI_SCHEDULES", 100);
  const std::uint64_t first = from_environment("TUTTI_SCHEDULE_FIRST", 1);
  FaultCounts sum;
  for (std::uint64_t seed = first; seed < first + schedules; ++seed) {
    const FaultReport report = run_fault_schedule(seed, false);
    sum.succeeded += report.counts.succeeded;
    sum.failed += report.counts.failed;
    sum.process_deaths += report.counts.process_deaths;
    sum.power_losses += report.counts.power_losses;
    sum.cuts += report.counts.cuts;
    sum.bytes_checked += report.counts.bytes_checked;
    sum.client_deaths += report.counts.client_deaths;
    sum.store_faults += report.counts.store_faults;
    sum.failed_syncs += report.counts.failed_syncs;
    sum.wrong_stores += report.counts.wrong_stores;
    sum.lost_locks += report.counts.lost_locks;
    EXPECT_TRUE(report.outcome.ok()) << to_text(report);
  }
  std::cout << schedules << " schedules: " << sum.succeeded << " operations ok, " << sum.failed << " failed, "
            << sum.process_deaths << " deaths, " << sum.power_losses << " power losses, " << sum.cuts
            << " cuts, " << sum.client_deaths << " deaths of clients, " << sum.store_faults
            << " store faults, " << sum.failed_syncs << " failed syncs, " << sum.wrong_stores
            << " wrong stores, " << sum.lost_locks << " lost locks, " << sum.bytes_checked
            << " bytes checked\n";
  // The faults bite, and the work gets done all the same.
  EXPECT_GT(sum.process_deaths, schedules / 2);
  EXPECT_GT(sum.succeeded, 10 * sum.failed);
}

TEST(FaultSchedule, TheSameSeedGivesTheSameRun) {
  const FaultReport first = run_fault_schedule(5, true);
  const FaultReport second = run_fault_schedule(5, true);
  EXPECT_EQ(first.trace_hash, second.trace_hash);
  EXPECT_EQ(first.journal, second.journal);
  EXPECT_NE(first.trace_hash, run_fault_schedule(6, true).trace_hash);
}

}  // namespace
}  // namespace tutti
