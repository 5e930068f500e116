// orchestra-window: figure 9. Two instances of mpi-io-test read, by length of the window.
#include <fmt/format.h>

#include <map>

#include "lab/experiments/orchestra/testbed.h"
#include "lab/report/numbers.h"

namespace tutti {
namespace {

using namespace orchestra;

Result<Report> run(const ExperimentOptions& options) {
  Points points(options, options.quick ? 1 : 10);
  RunSpec spec;
  spec.programs.resize(2);
  const std::size_t base = points.add({{"window_ms", 500}}, spec);
  std::map<std::uint64_t, std::size_t> at;
  for (const std::uint64_t window : {125U, 250U, 500U, 1000U}) {
    RunSpec each = spec;
    each.policy = as_the_paper(fmt::format(";window={}", window));
    at[window] = points.add_one({{"window_ms", window}, {"column", "the paper's conditions alone"}}, each);
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds(), spec);
  report.rows = points.rows();
  const std::map<std::uint64_t, std::pair<double, const char*>> asked = {{125, {0.402, "0.28 to 0.52"}},
                                                                         {250, {0.485, "0.365 to 0.605"}},
                                                                         {500, {0.586, "0.466 to 0.706"}},
                                                                         {1000, {0.596, "0.476 to 0.716"}}};
  for (const auto& [window, point] : at) {
    report.figure(fmt::format("gain_{}", window),
                  rounded(points.cell(point).rate() / points.cell(base, kFcfs).rate() - 1),
                  asked.at(window).first, asked.at(window).second);
  }
  report.figure("never_loses_worst", rounded(points.never_loses()), {}, ">= 0.97");
  report.figure("never_loses_same_read_ahead", rounded(points.never_loses_same_read_ahead()));
  report.figure("busy_over_expected_farthest", rounded(points.first_principles()), {}, "0.9 to 1.1");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::orchestra_window = {"orchestra-window",
                                                                  "by length of the scheduling window", run};

}  // namespace tutti
