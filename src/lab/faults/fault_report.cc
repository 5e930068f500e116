#include <fmt/format.h>

#include "lab/faults/fault_schedule.h"

namespace tutti {

std::string to_text(const FaultReport& report) {
  const FaultCounts& counts = report.counts;
  std::string text = fmt::format(
      "seed {}: {}: {} operations ok, {} failed, {} bytes checked; {} deaths, {} power losses, {} cuts, {} "
      "store faults, {} failed syncs, {} wrong stores, "
      "{} client deaths, {} lost locks; {} events in {}: {}\n",
      report.seed, report.setup, counts.succeeded, counts.failed, counts.bytes_checked, counts.process_deaths,
      counts.power_losses, counts.cuts, counts.store_faults, counts.failed_syncs, counts.wrong_stores,
      counts.client_deaths, counts.lost_locks, report.events, to_string(report.virtual_time),
      report.outcome.ok() ? "held" : "VIOLATED: " + report.outcome.message());
  if (report.outcome.ok()) return text;
  for (const std::string& line : report.journal) text += line + "\n";
  text += fmt::format("repeat with: TUTTI_SCHEDULE_SEED={} fault_schedule_test\n", report.seed);
  return text;
}

}  // namespace tutti
