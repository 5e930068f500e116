// resonant-interference: figure 11. The demonstration program beside mpi-io-test, which computes between its calls.
#include <fmt/format.h>

#include <map>

#include "lab/experiments/resonant/bed.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace resonance;

// The demonstration program reads so much; the other one reads as long as that lasts.
std::vector<Load> beside(Bytes file, Nanos think) {
  Load first = demo(4, 64_KiB, file);
  Load second = mpi_io_test(4, 64_KiB, file);
  second.think = think;
  if (think > Nanos())
    second.file = std::min(second.file, 256_KiB * static_cast<std::uint64_t>(20_s / think));
  return {first, second};
}

Result<Report> run(const ExperimentOptions& options) {
  const Bytes file = options.quick ? 64_MiB : 256_MiB;
  Points points(options, options.quick ? 1 : 3);
  Way with_window = letter_resonant();
  with_window.policy = default_policy(true);
  with_window.plan = "resonant";
  const std::vector<std::pair<std::string, Way>> ways = {
      {"two_phase", letter_two_phase()}, {"resonant", letter_resonant()}, {"window", with_window}};
  std::map<std::pair<std::string, int>, std::size_t> at;
  for (const auto& [name, way] : ways) {
    const Way& chosen = way;
    at[{name, -1}] = points.add({{"way", name}, {"compute_ms", "alone"}}, Bed(), way, demo(4, 64_KiB, file));
    for (const int think : {0, 10, 50, 100, 250, 500, 1000}) {
      if (options.quick && think != 0) continue;
      const Nanos time = 1_ms * think;
      at[{name, think}] = points.add({{"way", name}, {"compute_ms", think}}, [&](std::uint64_t seed) {
        return make(Bed(), chosen, beside(file, time), seed);
      });
    }
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds());
  report.rows = points.rows();
  const auto rate = [&](const std::string& name, int think) { return points.rate(at.at({name, think})); };
  report.figure("ratio_at_highest", rounded(rate("resonant", 0) / rate("two_phase", 0)), 48.0 / 22,
                "in 1.8..2.6");
  report.figure("resonant_at_highest", rounded(rate("resonant", 0)), 48);
  report.figure("two_phase_at_highest", rounded(rate("two_phase", 0)), 22);
  report.figure("relative_resonant_highest", rounded(rate("resonant", 0) / rate("resonant", -1)), 0.43);
  report.figure("relative_two_phase_highest", rounded(rate("two_phase", 0) / rate("two_phase", -1)), 0.47);
  if (!options.quick) {
    report.figure("relative_resonant_lowest", rounded(rate("resonant", 1000) / rate("resonant", -1)), 0.90);
    report.figure("relative_two_phase_lowest", rounded(rate("two_phase", 1000) / rate("two_phase", -1)),
                  0.98);
  }
  report.figure("with_window_at_highest", rounded(rate("window", 0)));
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_interference = {
    "resonant-interference", "two programs, by the time that one of them computes", run};

}  // namespace tutti
