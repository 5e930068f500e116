// coord-spread in reality: daemons and MPI ranks of this host, with the modelled disk in real time.
#pragma once

#include "base/status.h"
#include "cli/command.h"
#include "lab/experiments/experiment.h"

namespace tutti::cli {

// 4 applications of 4 ranks on 4 data servers: a cluster in a temporary directory for each policy, gone afterwards.
// Code::not_found if there is no MPI library to start the ranks with, Code::cancelled if it was interrupted.
Result<Report> run_real_spread(const Globals& globals);

}  // namespace tutti::cli
