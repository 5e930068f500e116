// resonant-mpiiotest: figure 7. Four processes read or write segments in a row, one each in a call. The letter goes by the
// paper's formula for groups (resonant.h); with as many groups as servers it is a second figure.
#include "lab/experiments/resonant/sweep.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace resonance;

Result<Report> run(const ExperimentOptions& options) {
  const Bytes file = options.quick ? 64_MiB : kShortFile;
  Points points(options, options.quick ? 1 : 3);
  Sweep sweep(points);
  Way many_groups = letter_resonant();
  many_groups.plan.resize(many_groups.plan.find(";group="));
  std::vector<Pair> by_many;
  for (const bool write : {false, true}) {
    for (Bytes segment = 32_KiB; segment <= 1_MiB; segment = segment * 2) {
      if (options.quick && segment != 128_KiB) continue;
      Load load = mpi_io_test(4, segment, file);
      load.write = write;
      sweep.add({{"segment", to_string(segment)}}, load, bed_for(file));
      const Json parameters = {{"segment", to_string(segment)}, {"operation", write ? "write" : "read"}};
      by_many.push_back({points.add(parameters, bed_for(file), letter_two_phase(), load),
                         points.add(parameters, bed_for(file), many_groups, load)});
    }
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds());
  report.rows = points.rows();
  report.figure("gain_max", rounded(std::max(sweep.largest_gain(false), sweep.largest_gain(true))), 0.61,
                "in 0.4..0.8");
  double of_many = -1;
  for (const Pair& pair : by_many) of_many = std::max(of_many, gain(points, pair));
  report.figure("gain_max_many_groups", rounded(of_many), 0.61);
  report.figure("gain_max_read", rounded(sweep.largest_gain(false)));
  report.figure("gain_max_write", rounded(sweep.largest_gain(true)));
  report.figure("forced_worst_ratio", rounded(sweep.worst_ratio()), {}, ">= 0.95");
  report.figure("letter_worst_ratio", rounded(sweep.worst_letter()));
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_mpiiotest = {
    "resonant-mpiiotest", "collective calls in which the ranks follow each other, by segment size", run};

}  // namespace tutti
