// RealRun: an experiment in reality, with daemons and programs of this host, beside its simulation in
// lab/experiments.
//
// It lives here because it needs what the command has: clusters in temporary directories, child processes,
// MPI programs. Adding one is one file, which defines a RealRun below real_runs, and one line in
// real_runs.def.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/command.h"
#include "lab/report/report.h"

namespace tutti::cli {

struct RealRun {
  std::string_view experiment;  // the name of the simulated one
  std::string_view shows;       // one line
  // Leaves nothing behind. Code::not_found with what to install if something is missing here, Code::cancelled
  // if it was interrupted.
  Result<Report> (*run)(const Globals& globals);
};

// nullptr if the experiment is only simulated.
const RealRun* find_real_run(std::string_view experiment);
// "coord-spread: with daemons ...", for all there are.
std::string real_runs_help();

namespace real_runs {

#define TUTTI_REAL_RUN(run) extern const RealRun run;
#include "cli/lab/real_runs.def"
#undef TUTTI_REAL_RUN

}  // namespace real_runs

}  // namespace tutti::cli
