// orchestra-distance: figure 8. mpi-io-test reads two files of 1 GB that lie 0 to 30 GB apart.
#include <map>

#include "lab/experiments/orchestra/testbed.h"
#include "lab/report/numbers.h"

namespace tutti {
namespace {

using namespace orchestra;

RunSpec apart(std::uint64_t gigabytes) {
  RunSpec spec;
  ProgramSpec program;
  program.file = Bytes(1'000'000'000);
  spec.programs = {program, program};
  spec.gap = Bytes(1'000'000'000) * gigabytes;
  // No longer: they would come to the end of their files.
  spec.length = 8_s;
  return spec;
}

Result<Report> run(const ExperimentOptions& options) {
  Points points(options, options.quick ? 1 : 10);
  std::map<std::uint64_t, std::size_t> at;
  for (const std::uint64_t gigabytes : {0U, 10U, 20U, 30U}) {
    if (options.quick && gigabytes != 0 && gigabytes != 30) continue;
    at[gigabytes] = points.add({{"gigabytes_apart", gigabytes}}, apart(gigabytes));
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds(), apart(0));
  report.rows = points.rows();
  const auto rate = [&](std::uint64_t gigabytes, std::size_t column) {
    return points.cell(at[gigabytes], column).rate();
  };
  report.figure("ratio_30gb", rounded(rate(30, kPaper) / rate(30, kFcfs)), 2.5, "2.1 to 2.9");
  report.figure("ratio_0gb", rounded(rate(0, kPaper) / rate(0, kFcfs)), 1.37, "1.2 to 1.55");
  report.figure("loss_without", rounded(1 - rate(30, kFcfs) / rate(0, kFcfs)), 0.48, "0.38 to 0.58");
  report.figure("loss_with", rounded(1 - rate(30, kPaper) / rate(0, kPaper)), 0.05, "<= 0.08");
  report.figure("never_loses_worst", rounded(points.never_loses()), {}, ">= 0.97");
  report.figure("never_loses_same_read_ahead", rounded(points.never_loses_same_read_ahead()));
  report.figure("busy_over_expected_farthest", rounded(points.first_principles()), {}, "0.9 to 1.1");
  for (const auto& [gigabytes, point] : at) {
    report.notes.push_back(std::to_string(gigabytes) + " GB apart, objects on server 0: " +
                           points.cell(point, kFcfs).outcomes.front().addresses);
  }
  return report;
}

}  // namespace

constinit const Experiment known_experiments::orchestra_distance = {
    "orchestra-distance", "files farther and farther apart on the disks", run};

}  // namespace tutti
