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
    std::size_t fcfs, arrival, offset, deep_fcfs, together;
  };
  std::vector<Comparison> comparisons;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    for (const std::uint64_t requests : {1U, 8U}) {
      const auto add = [&](const std::string& policy) {
        const Json parameters = {
            {"part", "sweeps"}, {"medium", medium_name(medium)}, {"requests", requests}, {"policy", policy}};
        return series.add(parameters,
                          [=](std::uint64_t seed) { return shared_files(medium, policy, requests, seed); });
      };
      const std::string window = default_window(medium);
      comparisons.push_back({std::string(medium_name(medium)) + (requests == 1 ? "" : "_loop"),
                             add(fcfs_single()), add(window + ";within=arrival"), add(window),
                             add("fcfs;dispatch_depth=16"), add(window + ";dispatch_depth=16")});
    }
  }
  TUTTI_TRY(series.run());
  for (Json& row : series.rows()) report.rows.push_back(std::move(row));
  for (const Comparison& each : comparisons) {
    report.figure(each.name + "_order_reduction", rounded(series.reduction(each.fcfs, each.arrival)));
    report.figure(each.name + "_sweep_reduction", rounded(series.reduction(each.arrival, each.offset)));
    report.figure(each.name + "_together_reduction",
                  rounded(series.reduction(each.deep_fcfs, each.together)));
  }
  report.notes.push_back(
      "order_reduction: window with within=arrival, the paper's policy to the letter, against fcfs. "
      "sweep_reduction: "
      "what within=offset saves of the rest. together_reduction: window with together=16 against fcfs with "
      "16 in service.");
  return {};
}

}  // namespace tutti
