// resonant-fragmented: objects whose order on the disk is not that of their offsets, which the authors name as the limit of
// their scheme: how much of the gain remains, by the size of the pieces in which an object lies on its disk.
#include <fmt/format.h>

#include "lab/experiments/resonant/bed.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace resonance;

Result<Report> run(const ExperimentOptions& options) {
  const Bytes file = options.quick ? 32_MiB : 256_MiB;
  Points points(options, options.quick ? 1 : 3);
  std::vector<std::pair<Bytes, Pair>> at;
  for (const Bytes extent : {64_KiB, 256_KiB, 1_MiB, 8_MiB, 128_MiB}) {
    Bed bed;
    bed.extent = extent;
    bed.fragmented = extent < 128_MiB;
    at.emplace_back(extent, add_letter(points, {{"extent", to_string(extent)}}, demo(4, 64_KiB, file), bed));
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds());
  report.rows = points.rows();
  const double whole = gain(points, at.back().second);
  for (const auto& [extent, pair] : at) {
    report.figure(fmt::format("gain_{}k", extent / 1_KiB), rounded(gain(points, pair)));
    report.figure(fmt::format("remains_{}k", extent / 1_KiB), rounded(gain(points, pair) / whole));
  }
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_fragmented = {
    "resonant-fragmented", "objects in pieces all over the disk", run};

}  // namespace tutti
