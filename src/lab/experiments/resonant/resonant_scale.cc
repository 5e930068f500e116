// resonant-scale: figure 12. 16 servers, 1 to 64 processes, segments of 1 MB.
#include <fmt/format.h>

#include <map>

#include "lab/experiments/resonant/sweep.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace resonance;

Result<Report> run(const ExperimentOptions& options) {
  Points points(options, options.quick ? 1 : 3);
  Bed bed;
  bed.servers = 16;
  bed.pentium = false;  // another cluster: Itanium 2
  std::map<std::uint32_t, Pair> at;
  for (std::uint32_t processes = 1; processes <= (options.quick ? 4U : 64U); processes *= 2) {
    const Load load = mpi_io_test(processes, 1_MiB, std::max(128_MiB, 8_MiB * processes));
    at[processes] = add_letter(points, {{"processes", processes}}, load, bed);
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds());
  report.rows = points.rows();
  for (const auto& [processes, pair] : at)
    report.figure(fmt::format("ratio_{}", processes), rounded(1 + gain(points, pair)));
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_scale = {
    "resonant-scale", "16 servers, by the number of processes", run};

}  // namespace tutti
