// Fault schedules of the gate: jobs take turns while holders and the coordinator die, links are cut and slow, power fails and
// clocks jump. A seed decides everything.
//
// A schedule fails if more jobs than allowed hold a resource at the same time, each by its own reckoning (GateSession::valid),
// if a fencing number is given out twice or a later turn has a lower one, if somebody overtakes where order is promised, also
// over a restart of the coordinator, or if somebody waits longer than the faults explain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

struct GateCountsOfFaults {
  std::uint64_t turns = 0, unguarded = 0, blocked = 0, holding = 0, lost = 0;
  std::uint64_t job_deaths = 0, coordinator_deaths = 0, power_losses = 0, cuts = 0, slow_links = 0, jumps = 0;
};

struct GateReport {
  std::uint64_t seed = 0;
  Status outcome;
  GateCountsOfFaults counts;
  Nanos longest_wait;
  Nanos virtual_time;
  std::string setup;
  std::vector<std::string> journal;
};

GateReport run_gate_schedule(std::uint64_t seed);
std::string to_text(const GateReport& report);

}  // namespace tutti
