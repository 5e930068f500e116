// coord-apps: figure 6. Applications of several processes, one request each, all issued together; then closed loops.
#include <fmt/format.h>

#include <algorithm>

#include "lab/experiments/experiment.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

constexpr std::uint32_t kServers = 16;
constexpr Nanos kInterval = 1000_ms;

ApplicationSpec reader(std::uint32_t processes, std::uint64_t requests) {
  ApplicationSpec spec;
  spec.processes = processes;
  spec.request = 128_KiB;
  spec.requests = requests;
  spec.barrier = requests > 1;
  spec.layout.stripe_size = 4_KiB;
  return spec;
}

std::size_t add(Series& series, Medium medium, std::uint32_t applications, const ApplicationSpec& spec,
                const std::string& policy) {
  const Json parameters = {{"medium", medium_name(medium)},
                           {"applications", applications},
                           {"processes", spec.processes},
                           {"requests", spec.requests},
                           {"policy", policy}};
  return series.add(parameters, [=](std::uint64_t seed) {
    Scenario scenario = make_testbed(medium, kServers, policy, seed);
    add_applications(scenario, spec, applications);
    return scenario;
  });
}

struct Pair {
  Medium medium;
  std::size_t without;
  std::size_t with;
};

Result<Report> run(const ExperimentOptions& options) {
  const std::vector<std::uint32_t> counts = options.quick
                                                ? std::vector<std::uint32_t>{2, 10}
                                                : std::vector<std::uint32_t>{2, 4, 6, 8, 10, 12, 14, 16};
  const std::vector<std::uint32_t> processes =
      options.quick ? std::vector<std::uint32_t>{8} : std::vector<std::uint32_t>{8, 16, 32};
  Series series(options, options.quick ? 2 : 3);
  std::vector<Pair> bursts;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    const std::string window = coordinated(kInterval);
    for (const std::uint32_t count : counts) {
      for (const std::uint32_t each : processes) {
        const std::size_t without = add(series, medium, count, reader(each, 1), uncoordinated());
        bursts.push_back({medium, without, add(series, medium, count, reader(each, 1), window)});
      }
    }
  }
  std::vector<Pair> loops;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    const std::string window = coordinated(kInterval);
    for (const std::uint64_t requests : {4U, 16U}) {
      if (options.quick) continue;
      const std::size_t without = add(series, medium, 10, reader(8, requests), uncoordinated());
      loops.push_back({medium, without, add(series, medium, 10, reader(8, requests), window)});
      for (const char* extension : {";order=rotated", ";order=smallest;load=operations", ";adaptive=true"}) {
        add(series, medium, 10, reader(8, requests), window + extension);
      }
    }
  }
  TUTTI_TRY(series.run());

  Report report;
  report.settings = testbed_settings(series.seeds());
  report.rows = series.rows();
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    std::vector<double> saved;
    for (const Pair& pair : bursts) {
      if (pair.medium == medium) saved.push_back(series.reduction(pair.without, pair.with));
    }
    const auto [least, most] = std::minmax_element(saved.begin(), saved.end());
    const std::string name(medium_name(medium));
    const bool hdd = medium == Medium::hdd;
    report.figure(name + "_reduction_min", rounded(*least), hdd ? 0.08 : 0.11, hdd ? ">= 0.08" : ">= 0.11");
    report.figure(name + "_reduction_max", rounded(*most), hdd ? 0.42 : 0.43, hdd ? ">= 0.42" : ">= 0.43");
  }
  for (const Pair& pair : loops) {
    report.figure(fmt::format("{}_reduction_loop_{}", medium_name(pair.medium),
                              series[pair.with].parameters["requests"].get<int>()),
                  rounded(series.reduction(pair.without, pair.with)));
  }
  report.notes.push_back(
      "A closed loop (4 and 16 requests of each process, with a barrier between them) has the mean "
      "completion "
      "applications / throughput whatever the order (Little's law): order gains only what the first round "
      "and the last "
      "give, and what it saves in seeks.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::coord_apps = {
    "coord-apps", "completion time by number of applications, as bursts and as closed loops", run};

}  // namespace tutti
