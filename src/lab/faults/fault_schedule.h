// Fault schedules: clients write, read and rename while servers die and return, power and links fail, and
// oracles judge every answer (file_oracle.h, name_oracle.h). A seed decides everything: the size of the
// cluster, the work, the faults and their times; the same seed gives the same run.
//
// A schedule fails if an acknowledged write is lost, a read returns bytes that nobody wrote there, a name is
// lost or comes back, an operation ends in an error that no fault explains, one does not end in time, or the
// objects of a removed file stay for ever.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/faults/fault_world.h"

namespace tutti {

struct FaultReport {
  std::uint64_t seed = 0;
  Status outcome;  // what was violated
  FaultCounts counts;
  Nanos virtual_time;
  std::uint64_t events = 0;
  std::uint64_t trace_hash = 0;      // tells two runs apart
  std::string setup;                 // "3 servers, 2 clients, ..."
  std::vector<std::string> journal;  // the last events; all of them if verbose
};

FaultReport run_fault_schedule(std::uint64_t seed, bool verbose);
// One line for a schedule that held; the journal and how to repeat the run for one that did not.
std::string to_text(const FaultReport& report);

}  // namespace tutti
