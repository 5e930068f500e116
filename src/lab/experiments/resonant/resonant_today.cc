// resonant-today: NVMe and 100 Gb/s, 64 ranks on 16 servers: whether a plan for disks costs anything where there are none.
#include <algorithm>

#include "lab/experiments/resonant/bed.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace resonance;

Result<Report> run(const ExperimentOptions& options) {
  Points points(options, 1);
  Bed bed;
  bed.medium = Machine::nvme;
  bed.servers = 16;
  bed.wake_jitter = 20_us;
  const std::uint32_t ranks = options.quick ? 8 : 64;
  struct Entry {
    std::size_t chosen;
    std::vector<std::size_t> all;
  };
  std::vector<Entry> entries;
  for (const bool write : {false, true}) {
    for (const Bytes segment : {64_KiB, 1_MiB}) {
      Load load = demo(ranks, segment, 512_MiB);
      load.write = write;
      const Json parameters = {{"segment", to_string(segment)}, {"operation", write ? "write" : "read"}};
      Entry entry;
      for (const Way& way : every_plan(false)) entry.all.push_back(points.add(parameters, bed, way, load));
      entry.chosen = points.add(parameters, bed, {"auto", default_policy(false)}, load);
      entries.push_back(entry);
    }
  }
  TUTTI_TRY(points.run());
  Report report;
  report.settings =
      settings(points.seeds()) + "; here NVMe, 100 Gb/s, 64 ranks, 16 servers, a message waits 0 to 20 us";
  report.rows = points.rows();
  double over = 0;
  double messages = 0;
  double least = 0;
  for (const Entry& entry : entries) {
    double best = 0;
    for (const std::size_t each : entry.all) best = std::max(best, points.rate(each));
    over = std::max(over, best / points.rate(entry.chosen));
    messages = std::max(messages, points.requests(entry.chosen));
    least = std::max(least, points.requests(entry.all.back()));
  }
  report.figure("over_best", rounded(over), {}, "<= 1.02");
  report.figure("requests_of_a_call", rounded(messages));
  report.figure("requests_of_a_call_resonant", rounded(least));
  report.notes.push_back(
      "over_best: the time of `auto` over that of the best plan, at the worst point. requests_of_a_call: "
      "reads and writes that "
      "a server gets in one call, the most of all points; a server's processor is not modelled, but its work "
      "is in "
      "proportion to these.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_today = {
    "resonant-today", "NVMe and 100 Gb/s, 64 ranks on 16 servers", run};

}  // namespace tutti
