// resonant-auto: the plan that is chosen by itself against every other, and against what users have: on all media, alone
// and beside another program.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lab/experiments/resonant/bed.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace resonance;

struct Case {
  std::string name;
  Load load;
};

// On disks as many calls as a plan takes to be tried; the paper's programs make ten times as many.
std::vector<Case> cases(bool quick, bool disk) {
  const Bytes file = quick ? 16_MiB : disk ? 512_MiB : 128_MiB;
  std::vector<Case> all = {{"demo 4, 64 KiB", demo(4, 64_KiB, file)},
                           {"demo 4, 256 KiB", demo(4, 256_KiB, file)},
                           {"demo 2, 128 KiB", demo(2, 128_KiB, file)},
                           {"mpi-io-test 128 KiB", mpi_io_test(4, 128_KiB, file)},
                           {"mpi-io-test 1 MiB", mpi_io_test(4, 1_MiB, file)},
                           {"ior 32 KiB", ior(32_KiB, file / 2)},
                           {"noncontig 16 KiB", noncontig(16_KiB, file)},
                           {"noncontig 256 KiB", noncontig(256_KiB, file)},
                           {"hpio 2 KiB", hpio(2_KiB, 4096)},
                           {"coll_perf 128", coll_perf(128)}};
  if (quick) all.resize(2);
  std::vector<Case> both;
  for (const Case& each : all) {
    both.push_back(each);
    both.push_back(each);
    both.back().name += ", write";
    both.back().load.write = both.back().load.sync = true;
  }
  return both;
}

Result<Report> run(const ExperimentOptions& options) {
  Points points(options, options.quick ? 1 : 5);
  struct Entry {
    std::string name;
    std::size_t chosen = 0;
    std::vector<std::size_t> others;
  };
  std::vector<Entry> entries;
  for (const Machine medium : {Machine::small_hdd, Machine::ssd, Machine::nvme, Machine::memory}) {
    Bed bed;
    bed.medium = medium;
    if (medium == Machine::small_hdd) bed.page_cache = 64_MiB;
    if (medium == Machine::nvme || medium == Machine::memory) bed.wake_jitter = 20_us;
    std::vector<Way> others = users_baselines(rotational(medium));
    for (const Way& way : every_plan(rotational(medium))) others.push_back(way);
    for (const Case& each : cases(options.quick, rotational(medium))) {
      for (const bool beside : {false, true}) {
        if (beside && (medium == Machine::ssd || medium == Machine::memory || each.load.write)) continue;
        Json parameters = {{"medium", machine_name(medium)}, {"load", each.name}, {"beside", beside}};
        const auto add = [&](const Way& way) {
          parameters["plan"] = way.plan;
          parameters["policy"] = way.policy;
          parameters["buffer"] = to_string(way.buffer);
          std::vector<Load> loads = {each.load};
          if (beside) loads.push_back(mpi_io_test(4, 256_KiB, each.load.file));
          return points.add(parameters, [&](std::uint64_t seed) { return make(bed, way, loads, seed); });
        };
        Entry entry;
        entry.name =
            fmt::format("{}, {}{}", machine_name(medium), each.name, beside ? ", beside another" : "");
        for (const Way& way : others) entry.others.push_back(add(way));
        entry.chosen = add({"auto", default_policy(rotational(medium))});
        entries.push_back(entry);
      }
    }
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings = settings(points.seeds());
  report.rows = points.rows();
  double worst = std::numeric_limits<double>::max();
  double best_gain = 0;
  std::string where;
  for (const Entry& entry : entries) {
    double best = 0;
    for (const std::size_t other : entry.others) best = std::max(best, points.rate(other));
    const double ratio = points.rate(entry.chosen) / best;
    best_gain = std::max(best_gain, ratio);
    if (ratio >= worst) continue;
    worst = ratio;
    where = entry.name;
  }
  report.figure("auto_worst_ratio", rounded(worst), {}, ">= 0.98");
  report.figure("auto_worst_at", where);
  report.figure("gain_over_best", rounded(best_gain - 1));
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_auto = {
    "resonant-auto", "the plan that is chosen by itself against every other", run};

}  // namespace tutti
