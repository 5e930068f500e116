// coord-apps: figure 6. Applications of several processes in closed loops with a barrier between two requests.
#include <fmt/format.h>

#include <algorithm>

#include "lab/experiments/experiment.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

constexpr std::uint32_t kServers = 16;
constexpr std::uint64_t kRounds = 16;
constexpr Nanos kInterval = 1000_ms;  // for both media, as the paper says

struct Point {
  Medium medium;
  std::uint32_t applications;
  std::uint32_t processes;
  FilePlaces places;
};

Scenario loops(const Point& point, const std::string& policy, std::uint64_t seed) {
  Scenario scenario = make_testbed(point.medium, kServers, policy, seed);
  place_files(scenario, point.places);
  ApplicationSpec spec;
  spec.processes = point.processes;
  spec.request = 128_KiB;
  spec.requests = kRounds;
  spec.barrier = true;
  spec.layout.stripe_size = 4_KiB;
  add_applications(scenario, spec, point.applications);
  return scenario;
}

std::vector<Point> points_of(const ExperimentOptions& options) {
  std::vector<Point> points;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    for (std::uint32_t applications = 2; applications <= 16; applications += 2) {
      for (const std::uint32_t processes : {8U, 16U, 32U}) {
        if (options.quick && (processes > 8 || (applications != 2 && applications != 10))) continue;
        points.push_back({medium, applications, processes, {}});
      }
    }
    if (options.quick || medium == Medium::ssd) continue;
    for (const FilePlaces& places :
         {FilePlaces{false, false}, FilePlaces{true, true}, FilePlaces{true, false}}) {
      points.push_back({medium, 8, 8, places});
    }
  }
  return points;
}

Result<Report> run(const ExperimentOptions& options) {
  Series series(options, 2);
  const std::vector<Point> points = points_of(options);
  std::vector<Matrix> matrices;
  for (const Point& point : points) {
    const Json parameters = {{"medium", medium_name(point.medium)},
                             {"files", places_name(point.places)},
                             {"applications", point.applications},
                             {"processes", point.processes}};
    matrices.push_back(series.add_matrix(
        parameters, point.medium, letter(kInterval),
        [&](const std::string& policy, std::uint64_t seed) { return loops(point, policy, seed); }));
  }
  TUTTI_TRY(series.run());

  Report report;
  report.settings =
      testbed_settings(series.seeds()) + fmt::format("; {} rounds with a barrier between them", kRounds);
  report.rows = series.rows();
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    std::vector<double> single;
    std::vector<double> deep;
    std::vector<double> user;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points[i].medium != medium) continue;
      user.push_back(series.default_reduction(matrices[i]));
      if (points[i].places.adjacent || !points[i].places.alike) continue;
      single.push_back(series.reduction(matrices[i].single, matrices[i].letter));
      deep.push_back(series.reduction(matrices[i].deep, matrices[i].letter));
    }
    const std::string name(medium_name(medium));
    const bool hdd = medium == Medium::hdd;
    const auto least = [](const std::vector<double>& of) {
      return rounded(*std::min_element(of.begin(), of.end()));
    };
    const auto most = [](const std::vector<double>& of) {
      return rounded(*std::max_element(of.begin(), of.end()));
    };
    report.figure(name + "_letter_min", least(single), hdd ? 0.08 : 0.11,
                  hdd ? "0.0 to 0.18" : "0.01 to 0.21");
    report.figure(name + "_letter_max", most(single), hdd ? 0.42 : 0.43,
                  hdd ? "0.32 to 0.52" : "0.33 to 0.53");
    report.figure(name + "_letter_min_deep", least(deep));
    report.figure(name + "_letter_max_deep", most(deep));
    report.figure("default_worst_" + name, least(user), {}, ">= -0.02");
    report.figure("default_best_" + name, most(user), {}, ">= 0.25");
  }
  report.notes.push_back(
      "letter: the paper to the letter against fcfs with one in service; letter_..._deep: against fcfs with "
      "16, which is what "
      "PVFS2 does. default: what a user gets against the better of the two, at every point.");
  report.notes.push_back(
      "In a closed loop the mean completion is applications / throughput whatever the order (Little's law): "
      "order gains by "
      "keeping servers busy and heads still, and because applications end one after the other.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::coord_apps = {
    "coord-apps", "completion time by number of applications, with barriers between requests", run};

}  // namespace tutti
