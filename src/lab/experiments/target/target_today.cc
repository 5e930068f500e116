// target-today: NVMe drives and 100 Gb/s Ethernet, 64 clients of 1 GiB on 16 servers, two pieces in flight.
#include <algorithm>

#include "env/sim/device/parameters.h"
#include "lab/experiments/target/nodes.h"
#include "lab/experiments/target/today.h"

namespace tutti {

TargetPoint today_point() {
  TargetPoint point;
  point.nic = point.client_nic = NicModel::hundred_gigabit();
  point.storage.phantom = true;
  point.storage.device = SimDevice::ssd;
  point.storage.ssd = default_nvme();
  point.storage.scheduler = "none";
  // Written through: what is in memory only would be no news about the drives.
  point.storage.store.cache.background_ratio = 0;
  point.storage.store.cache.dirty_ratio = 0;
  return point;
}

namespace {

Result<Report> run(const ExperimentOptions& options) {
  TargetSeries series(options);
  std::vector<std::size_t> points;
  for (const bool write : {true, false}) {
    for (const bool slow : {false, true}) {
      for (const char* order : {"hash", "auto", "today"}) {
        const std::string name = order;
        const Json parameters = {{"operation", write ? "write" : "read"},
                                 {"one_server_slow", slow},
                                 {"order", name},
                                 {"in_flight", name == "hash" ? 2 : 0}};
        const std::size_t point = series.add(parameters, 1, [=](std::uint64_t seed) {
          TargetPoint made = today_point();
          made.seed = seed;
          made.servers = 16;
          made.stripe = 1_MiB;
          made.write = write;
          made.clients = contiguous(options.quick ? 16 : 64, options.quick ? 64_MiB : 1_GiB);
          if (slow) made.slow_server = 2;
          if (name == "today") {
            as_today(made);
          } else {
            with_order(made, name, 4_MiB, name == "hash" ? 2 : 0);
          }
          return made;
        });
        if (name == "hash") points.push_back(point);
      }
    }
  }
  TUTTI_TRY(series.run());
  Report report;
  report.settings = "64 clients of 1 GiB, 16 servers, stripes of 1 MiB, " + describe(today_point().storage) +
                    ", 100 Gb/s Ethernet with jumbo frames; blocks of 4 MiB";
  report.rows = series.rows();
  double over = 0;
  for (const std::size_t point : points)
    over = std::max(over, series.seconds(point) / series[point].front().bound);
  report.figure("over_bound", rounded_to(over), {}, "<= 1.05");
  report.notes.push_back(
      "over_bound: of the worst of four, with hash and two pieces in flight: read, write, all servers alike, "
      "one at half speed. The bound is the most loaded card or drive.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::target_today = {
    "target-today", "64 clients of 1 GiB on 16 servers with NVMe drives and 100 Gb/s", run};

}  // namespace tutti
