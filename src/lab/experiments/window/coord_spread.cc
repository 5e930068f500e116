// coord-spread: figures 3 and 5. One request of each application reaches all servers; how far apart do they finish?
#include "lab/experiments/experiment.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

Scenario one_request_each(Medium medium, const FilePlaces& places, const std::string& policy,
                          std::uint64_t seed) {
  Scenario scenario = make_testbed(medium, 8, policy, seed);
  use_infiniband(scenario);
  place_files(scenario, places);
  ApplicationSpec spec;
  spec.request = 4_MiB;
  spec.layout.stripe_size = 64_KiB;
  add_applications(scenario, spec, 10);
  return scenario;
}

double mean_spread_of_each(const Sample& sample) {
  std::vector<double> values;
  for (const ScenarioResult& result : sample.results) values.push_back(spread_of_each(result));
  return mean(values);
}

void tell(const Series& series, const std::string& medium, const Matrix& matrix, bool hdd, Report& report) {
  report.figure(medium + "_reduction", rounded(series.reduction(matrix.single, matrix.letter)),
                hdd ? 0.298 : 0.195, hdd ? "0.298 to 0.45" : "0.195 to 0.35");
  report.figure(medium + "_reduction_deep", rounded(series.reduction(matrix.deep, matrix.letter)));
  report.figure(medium + "_default_reduction", rounded(series.default_reduction(matrix)));
  const auto spread = [&](std::size_t point) { return rounded(mean(series[point].spread)); };
  report.figure(medium + "_spread_fcfs", spread(matrix.single), hdd ? 4.4 : 3.1);
  report.figure(medium + "_spread_fcfs_deep", spread(matrix.deep));
  report.figure(medium + "_spread_window", spread(matrix.letter), hdd ? 1.3 : 1.2, hdd ? "<= 1.3" : "<= 1.2");
  report.figure(medium + "_spread_default", spread(matrix.window));
  report.figure(medium + "_spread_fcfs_mean_of_ratios", rounded(mean_spread_of_each(series[matrix.single])));
  report.figure(medium + "_spread_window_mean_of_ratios",
                rounded(mean_spread_of_each(series[matrix.letter])));
}

Result<Report> run(const ExperimentOptions& options) {
  Series series(options, options.quick ? 3 : 20);
  std::vector<Matrix> headlines;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    for (const FilePlaces& places : {FilePlaces{false, true}, FilePlaces{false, false},
                                     FilePlaces{true, true}, FilePlaces{true, false}}) {
      const bool headline = !places.adjacent && places.alike;
      if (!headline && (options.quick || medium == Medium::ssd)) continue;
      const Json parameters = {{"medium", medium_name(medium)},
                               {"files", places_name(places)},
                               {"applications", 10},
                               {"servers", 8}};
      const Matrix matrix = series.add_matrix(parameters, medium, letter(medium),
                                              [&](const std::string& policy, std::uint64_t seed) {
                                                return one_request_each(medium, places, policy, seed);
                                              });
      if (headline) headlines.push_back(matrix);
    }
  }
  TUTTI_TRY(series.run());
  Report report;
  report.settings = testbed_settings(series.seeds()) + "; InfiniBand under both media";
  report.rows = series.rows();
  tell(series, "hdd", headlines[0], true, report);
  tell(series, "ssd", headlines[1], false, report);
  report.notes.push_back(
      "reduction: the paper to the letter against fcfs with one in service; reduction_deep: against fcfs "
      "with 16, which is "
      "what PVFS2 does. default_reduction: what a user gets against the better of the two.");
  report.notes.push_back(
      "spread is the mean of the last over the mean of the first server; spread_..._mean_of_ratios is the "
      "mean of each "
      "application's own ratio, which one early server makes large.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::coord_spread = {
    "coord-spread", "ten applications, one request each: how far apart the servers finish", run};

}  // namespace tutti
