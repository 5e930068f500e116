#include "cli/lab/real_run.h"

#include <fmt/format.h>

namespace tutti::cli {
namespace {

constexpr const RealRun* kRealRuns[] = {
#define TUTTI_REAL_RUN(run) &real_runs::run,
#include "cli/lab/real_runs.def"
#undef TUTTI_REAL_RUN
};

}  // namespace

const RealRun* find_real_run(std::string_view experiment) {
  for (const RealRun* each : kRealRuns) {
    if (each->experiment == experiment) return each;
  }
  return nullptr;
}

std::string real_runs_help() {
  std::string help;
  for (const RealRun* each : kRealRuns) {
    if (!help.empty()) help += "; ";
    help += fmt::format("{}: {}", each->experiment, each->shows);
  }
  return help;
}

}  // namespace tutti::cli
