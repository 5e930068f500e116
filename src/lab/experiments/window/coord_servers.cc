// coord-servers: figure 7. Ten applications, each request 8 KiB on every server, 2 to 64 servers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/experiments/experiment.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

struct Point {
  Medium medium;
  std::uint32_t servers;
  std::uint32_t processes;
  bool write;
  std::uint64_t requests;  // of each process, one behind the other; 1: a burst
  Matrix matrix;
};

// The paper does not say how many requests each process has.
constexpr std::uint64_t kLoop = 16;

Scenario make(const Point& point, const std::string& policy, std::uint64_t seed) {
  Scenario scenario = make_testbed(point.medium, point.servers, policy, seed);
  ApplicationSpec spec;
  spec.processes = point.processes;
  spec.request = 8_KiB * point.servers;
  spec.write = point.write;
  spec.requests = point.requests;
  spec.layout.stripe_size = 4_KiB;
  add_applications(scenario, spec, 10);
  return scenario;
}

// Largest over smallest completion of the letter as servers grow: of the mean over reads and writes, and of the worst of
// the single curves.
struct Flatness {
  double mean = 1;
  double worst = 1;
};
Flatness flatness(const Series& series, const std::vector<Point>& points, Medium medium) {
  std::map<std::uint32_t, double> sums;
  std::map<std::pair<std::uint32_t, bool>, std::vector<double>> curves;
  for (const Point& point : points) {
    if (point.medium != medium || point.requests > 1) continue;
    sums[point.servers] += series.completion(point.matrix.letter);
    curves[{point.processes, point.write}].push_back(series.completion(point.matrix.letter));
  }
  const auto ratio = [](const std::vector<double>& of) {
    const auto [least, most] = std::minmax_element(of.begin(), of.end());
    return *most / *least;
  };
  std::vector<double> all;
  for (const auto& [servers, sum] : sums) all.push_back(sum);
  Flatness flat{ratio(all), 1};
  for (const auto& [which, curve] : curves) flat.worst = std::max(flat.worst, ratio(curve));
  return flat;
}

double letter_at(const Series& series, const std::vector<Point>& points, Medium medium, std::uint32_t servers,
                 std::uint64_t requests, bool deep) {
  std::vector<double> saved;
  for (const Point& point : points) {
    if (point.medium != medium || point.servers != servers || point.processes != 8) continue;
    if (point.requests != requests) continue;
    saved.push_back(series.reduction(deep ? point.matrix.deep : point.matrix.single, point.matrix.letter));
  }
  return mean(saved);
}

// What the default's gain in a burst on disks is made of: from fcfs on, one thing after the other, until it is the default.
struct Step {
  std::string_view name;
  std::string policy;
  std::size_t point = 0;
};
std::vector<Step> steps_to_default() {
  const std::string window = default_window(Medium::hdd);
  return {{"fcfs", fcfs_deep()},
          {"depth", "fcfs;dispatch_depth=31"},
          {"order", window + ";within=arrival;order=rotated"},
          {"sweeps", window + ";order=rotated"},
          {"sizes", window}};
}

Result<Report> run(const ExperimentOptions& options) {
  Series series(options, options.quick ? 2 : 5);
  std::vector<Point> points;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    for (const std::uint32_t servers : {2U, 4U, 8U, 16U, 32U, 64U}) {
      if (servers > (medium == Medium::ssd || options.quick ? 16U : 64U)) continue;
      for (const std::uint32_t processes : {8U, 16U, 32U}) {
        if (options.quick && processes > 8) continue;
        for (const bool write : {false, true}) {
          points.push_back({medium, servers, processes, write, 1, {}});
          if (processes == 8) points.push_back({medium, servers, processes, write, kLoop, {}});
        }
      }
    }
  }
  for (Point& point : points) {
    const Json parameters = {{"medium", medium_name(point.medium)},
                             {"servers", point.servers},
                             {"processes", point.processes},
                             {"operation", point.write ? "write" : "read"},
                             {"requests", point.requests}};
    point.matrix = series.add_matrix(
        parameters, point.medium, letter(point.medium),
        [&](const std::string& policy, std::uint64_t seed) { return make(point, policy, seed); });
  }
  const std::uint32_t most = options.quick ? 16 : 64;
  std::vector<Step> steps = steps_to_default();
  for (Step& step : steps) {
    const Point burst{Medium::hdd, most, options.quick ? 8U : 32U, false, 1, {}};
    step.point = series.add({{"part", step.name}, {"servers", most}, {"policy", step.policy}},
                            [&](std::uint64_t seed) { return make(burst, step.policy, seed); });
  }
  TUTTI_TRY(series.run());
  Report report;
  report.settings = testbed_settings(series.seeds());
  report.rows = series.rows();
  const double few = letter_at(series, points, Medium::hdd, 2, 1, true);
  const double many = letter_at(series, points, Medium::hdd, most, 1, true);
  report.figure("hdd_letter_2", rounded(few), 0.10);
  report.figure(fmt::format("hdd_letter_{}", most), rounded(many), 0.46);
  report.figure(fmt::format("growth_2_to_{}", most), rounded(many - few), 0.36, ">= 0.1");
  report.figure("hdd_loop_letter_2", rounded(letter_at(series, points, Medium::hdd, 2, kLoop, true)));
  report.figure(fmt::format("hdd_loop_letter_{}", most),
                rounded(letter_at(series, points, Medium::hdd, most, kLoop, true)));
  report.figure("ssd_letter_2", rounded(letter_at(series, points, Medium::ssd, 2, 1, true)), 0.10);
  report.figure("ssd_letter_16", rounded(letter_at(series, points, Medium::ssd, 16, 1, true)), 0.39);
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    const std::string name(medium_name(medium));
    const std::uint32_t end = medium == Medium::hdd ? most : 16;
    report.figure(name + "_letter_2_single", rounded(letter_at(series, points, medium, 2, 1, false)));
    report.figure(fmt::format("{}_letter_{}_single", name, end),
                  rounded(letter_at(series, points, medium, end, 1, false)));
    const Flatness flat = flatness(series, points, medium);
    report.figure(name + "_flatness", rounded(flat.mean));
    report.figure(name + "_flatness_worst_curve", rounded(flat.worst));
  }
  double worst = 1;
  double best = -1;
  for (const Point& point : points) {
    worst = std::min(worst, series.default_reduction(point.matrix));
    best = std::max(best, series.default_reduction(point.matrix));
  }
  report.figure("default_worst", rounded(worst), {}, ">= -0.02");
  report.figure("default_best", rounded(best));
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const double saved = series.completion(steps[i - 1].point) - series.completion(steps[i].point);
    report.figure(fmt::format("default_part_{}", steps[i].name),
                  rounded(saved / series.completion(steps[0].point)));
  }
  report.notes.push_back(
      "letter: the paper to the letter against fcfs with 16 in service, 8 processes, one request each, mean "
      "of reads and "
      "writes; loop_letter: in closed loops of 16 requests; _single: against one in service. default: what a "
      "user gets "
      "against the better of the two, at every point. default_part: what each step from fcfs to the default "
      "saves in a "
      "burst of reads on disks, most servers and processes, as a share of fcfs: 31 in the disk's queue "
      "instead of 16, one "
      "application after the other, sweeps within it, small ones first.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::coord_servers = {"coord-servers",
                                                               "completion time by number of servers", run};

}  // namespace tutti
