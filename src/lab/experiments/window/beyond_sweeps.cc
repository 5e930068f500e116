#include "lab/experiments/window/beyond.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

// As in figure 6 (one request of each process) and figure 8 (some, one after the other).
Scenario shared_files(Medium medium, const std::string& policy, std::uint64_t requests, std::uint64_t seed) {
  Scenario scenario = make_testbed(medium, 16, policy, seed);
  ApplicationSpec spec;
  spec.processes = 16;
  spec.request = 128_KiB;
  spec.requests = requests;
  spec.layout.stripe_size = 4_KiB;
  add_applications(scenario, spec, 10);
  return scenario;
}

}  // namespace

Status beyond_sweeps(const ExperimentOptions& options, Report& report) {
  Series series(options, options.quick ? 2 : 4);
  struct Comparison {
    std::string name;
    Matrix matrix;
    std::size_t swept;
  };
  std::vector<Comparison> comparisons;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    for (const std::uint64_t requests : {1U, 8U}) {
      const Json parameters = {{"part", "sweeps"}, {"medium", medium_name(medium)}, {"requests", requests}};
      const auto make = [=](const std::string& policy, std::uint64_t seed) {
        return shared_files(medium, policy, requests, seed);
      };
      const Matrix matrix = series.add_matrix(parameters, medium, letter(medium), make);
      const std::string swept = letter(medium) + ";within=offset";
      Json row = parameters;
      row["column"] = "letter, swept";
      row["policy"] = swept;
      comparisons.push_back({std::string(medium_name(medium)) + (requests == 1 ? "" : "_loop"), matrix,
                             series.add(row, [&](std::uint64_t seed) { return make(swept, seed); })});
    }
  }
  TUTTI_TRY(series.run());
  for (Json& row : series.rows()) report.rows.push_back(std::move(row));
  for (const Comparison& each : comparisons) {
    report.figure(each.name + "_order_reduction",
                  rounded(series.reduction(each.matrix.single, each.matrix.letter)));
    report.figure(each.name + "_sweep_reduction", rounded(series.reduction(each.matrix.letter, each.swept)));
    report.figure(each.name + "_default_reduction", rounded(series.default_reduction(each.matrix)));
  }
  report.notes.push_back(
      "order_reduction: the paper to the letter against fcfs with one in service. sweep_reduction: what "
      "within=offset saves of "
      "the rest. default_reduction: what a user gets against the better of fcfs with one and with 16.");
  return {};
}

}  // namespace tutti
