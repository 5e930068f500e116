// coord-spread in reality: daemons, processes and sockets of this host, with the modelled disk in real time.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "cli/command.h"
#include "lab/experiments/experiment.h"

namespace tutti::cli {

// 4 applications of 4 ranks on 4 data servers: a cluster in a temporary directory for each policy, gone afterwards.
Result<Report> run_real_spread(const Globals& globals);

// One rank of an application, a process of its own: reads its part in every round, when the clock says so.
struct LabRank {
  std::string path;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::uint32_t rounds = 1;
  std::uint64_t request = 0;
};
int run_lab_rank(const Globals& globals, const LabRank& options);

}  // namespace tutti::cli
