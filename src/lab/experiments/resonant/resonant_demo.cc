// resonant-demo: figures 2 and 5. Two and four processes read four segments each in a call, segments of 32 KiB to 1 MiB.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/experiments/resonant/bed.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace resonance;

struct Point {
  std::uint32_t processes;
  Bytes segment;
  std::size_t apart = 0;  // without collective calls
  Pair letter;
};

Result<Report> run(const ExperimentOptions& options) {
  const Bytes file = options.quick ? 64_MiB : 512_MiB;
  Points points(options, options.quick ? 1 : 3);
  std::vector<Point> grid;
  for (const std::uint32_t processes : {2U, 4U}) {
    for (Bytes segment = 32_KiB; segment <= 1_MiB; segment = segment * 2) {
      if (options.quick && segment != 64_KiB && segment != 128_KiB) continue;
      Point point{processes, segment, 0, {}};
      const Json parameters = {{"processes", processes}, {"segment", to_string(segment)}};
      point.apart =
          points.add(parameters, Bed(), letter_independent(), demo_apart(processes, segment, file));
      point.letter = add_letter(points, parameters, demo(processes, segment, file));
      grid.push_back(point);
    }
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds());
  report.rows = points.rows();
  double worst = 10;
  for (const Point& point : grid) {
    worst = std::min(worst, 1 + gain(points, point.letter));
    const std::string name = fmt::format("{}_{}k", point.processes, point.segment / 1_KiB);
    if (point.segment == 64_KiB || point.segment == 128_KiB) {
      report.figure("independent_" + name, rounded(points.rate(point.apart)));
      report.figure("two_phase_" + name, rounded(points.rate(point.letter.without)));
      report.figure("gain_" + name, rounded(gain(points, point.letter)));
    }
    if (point.processes == 4 && point.segment == 64_KiB) {
      report.figure("resonant_over_independent_64k",
                    rounded(points.rate(point.letter.with) / points.rate(point.apart)), 105.0 / 175, "<= 1.0");
      report.figure("jumps_two_phase", rounded(points.jumps(point.letter.without)));
      report.figure("jumps_resonant", rounded(points.jumps(point.letter.with)));
    }
  }
  report.figure("forced_worst_ratio", rounded(worst), {}, ">= 0.95");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_demo = {
    "resonant-demo", "collective reads of interleaved segments, by segment size", run};

}  // namespace tutti
