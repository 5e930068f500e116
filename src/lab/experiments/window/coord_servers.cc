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
  std::size_t without;
  std::size_t with;
};

std::size_t add(Series& series, const Point& point, const std::string& policy) {
  const Json parameters = {{"medium", medium_name(point.medium)},
                           {"servers", point.servers},
                           {"processes", point.processes},
                           {"operation", point.write ? "write" : "read"},
                           {"policy", policy}};
  return series.add(parameters, [=](std::uint64_t seed) {
    Scenario scenario = make_testbed(point.medium, point.servers, policy, seed);
    ApplicationSpec spec;
    spec.processes = point.processes;
    spec.request = 8_KiB * point.servers;
    spec.write = point.write;
    spec.layout.stripe_size = 4_KiB;
    add_applications(scenario, spec, 10);
    return scenario;
  });
}

// Largest over smallest coordinated completion as servers grow; each the mean over processes and operations.
double flatness(const Series& series, const std::vector<Point>& points, Medium medium) {
  std::map<std::uint32_t, double> sums;
  for (const Point& point : points) {
    if (point.medium == medium) sums[point.servers] += series.completion(point.with);
  }
  double least = sums.begin()->second;
  double most = least;
  for (const auto& [servers, sum] : sums) {
    least = std::min(least, sum);
    most = std::max(most, sum);
  }
  return most / least;
}

double reduction_at(const Series& series, const std::vector<Point>& points, Medium medium,
                    std::uint32_t servers) {
  std::vector<double> saved;
  for (const Point& point : points) {
    if (point.medium != medium || point.servers != servers) continue;
    saved.push_back(series.reduction(point.without, point.with));
  }
  return mean(saved);
}

Result<Report> run(const ExperimentOptions& options) {
  Series series(options, options.quick ? 2 : 3);
  std::vector<Point> points;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    for (const std::uint32_t servers : {2U, 4U, 8U, 16U, 32U, 64U}) {
      if (servers > (medium == Medium::ssd || options.quick ? 16U : 64U)) continue;
      for (const std::uint32_t processes : {8U, 16U, 32U}) {
        if (options.quick && processes > 8) continue;
        for (const bool write : {false, true}) {
          Point point{medium, servers, processes, write, 0, 0};
          point.without = add(series, point, uncoordinated());
          point.with = add(series, point, coordinated(medium));
          points.push_back(point);
        }
      }
    }
  }
  TUTTI_TRY(series.run());
  Report report;
  report.settings = testbed_settings(series.seeds());
  report.rows = series.rows();
  const std::uint32_t most = options.quick ? 16 : 64;
  const auto at = [&](Medium medium, std::uint32_t servers) {
    return rounded(reduction_at(series, points, medium, servers));
  };
  report.figure("hdd_reduction_2", at(Medium::hdd, 2), 0.10, ">= 0.1");
  report.figure("ssd_reduction_2", at(Medium::ssd, 2), 0.10, ">= 0.1");
  report.figure(fmt::format("hdd_reduction_{}", most), at(Medium::hdd, most), 0.46, ">= 0.43");
  report.figure("ssd_reduction_16", at(Medium::ssd, 16), 0.39, ">= 0.39");
  report.figure("hdd_flatness", rounded(flatness(series, points, Medium::hdd)), {}, "<= 1.1");
  report.figure("ssd_flatness", rounded(flatness(series, points, Medium::ssd)), {}, "<= 1.1");
  report.notes.push_back(
      "All figures are means over 8, 16 and 32 processes, reads and writes; rows give each.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::coord_servers = {"coord-servers",
                                                               "completion time by number of servers", run};

}  // namespace tutti
