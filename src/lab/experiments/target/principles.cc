#include "lab/experiments/target/principles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tutti {
namespace {

struct Setting {
  std::string order = "hash";
  Bytes block = 4_MiB;
  std::uint32_t clients = 8;
  std::size_t in_flight = 1;
  bool ranked = true;
  bool wide = false;  // the clients' cards are no limit
};

TargetPoint make(const Setting& setting, std::uint64_t seed) {
  TargetPoint point = paper_point(false);
  point.seed = seed;
  point.clients = contiguous(setting.clients, 32_MiB);
  to_the_letter(point, setting.order, setting.block);
  point.visit.in_flight = setting.in_flight;
  point.ranked = setting.ranked;
  point.in_order = true;
  point.nic.jitter = point.client_nic.jitter = 0_ns;
  if (setting.wide) point.client_nic.bandwidth *= 8;
  return point;
}

}  // namespace

Principles::Principles(TargetSeries& series, bool quick) {
  const auto add = [&](const Setting& setting, std::size_t seeds) {
    const Json parameters = {{"part", "principles"},       {"operation", "write"},
                             {"order", setting.order},     {"block", setting.block.count()},
                             {"clients", setting.clients}, {"in_flight", setting.in_flight},
                             {"ranked", setting.ranked},   {"wide", setting.wide}};
    return series.add(parameters, seeds, [=](std::uint64_t seed) { return make(setting, seed); });
  };
  const std::size_t many = quick ? 10 : 100;
  hash_ = add({}, 1);
  const auto law = [&](const std::string& name, const Setting& setting, std::size_t seeds, double expected) {
    Setting best = setting;
    best.order = "hash";
    best.in_flight = 1;
    best.ranked = true;
    laws_.push_back({name, add(setting, seeds), add(best, 1), expected});
  };
  for (const Bytes block : {64_KiB, 1_MiB, 2_MiB, 4_MiB, 8_MiB}) {
    const double m = 32.0 * (1 << 20) / static_cast<double>(std::min(block, 4_MiB).count());
    law(fmt::format("first {}", to_string(block)), {.order = "first", .block = block}, 1, m / (m + 7));
  }
  law("random", {.order = "random"}, many, 0.60);
  law("hash from a random start", {.ranked = false}, many, 0.80);
  for (const std::uint32_t clients : {16U, 64U})
    law(fmt::format("first, {} clients", clients), {.order = "first", .clients = clients}, 1,
        clients / (clients + 7.0));
  const double in_flight[] = {8.0 / 15, 8.0 / 11, 8.0 / 9, 1};
  for (std::size_t i = 0; i < 4; ++i)
    law(fmt::format("first, {} in flight", 1U << i),
        {.order = "first", .in_flight = std::size_t{1} << i, .wide = true}, 1, in_flight[i]);
  equal_links_ = add({.order = "first", .in_flight = 8}, 1);
}

void Principles::tell(const TargetSeries& series, Report& report) const {
  double worst = 0;
  for (const Law& law : laws_) {
    std::vector<double> ratios;
    for (const TargetResult& result : series[law.point])
      ratios.push_back(series.seconds(law.against) / result.seconds);
    const double ratio = mean_of(ratios);
    worst = std::max(worst, std::abs(ratio - law.expected));
    report.rows.push_back({{"part", "principles"},
                           {"law", law.name},
                           {"expected", rounded_to(law.expected, 3)},
                           {"measured", rounded_to(ratio, 3)}});
  }
  // `hash` itself against the line.
  const double line = 256.0 * (1 << 20) / 8 / static_cast<double>(myrinet().bandwidth);
  const double hash = line / series.seconds(hash_);
  report.rows.push_back({{"part", "principles"},
                         {"law", "hash of the line rate"},
                         {"expected", 1},
                         {"measured", rounded_to(hash, 3)}});
  worst = std::max(worst, std::abs(hash - 1));
  report.figure("principles_worst_error", rounded_to(worst), {}, "<= 0.03");
  report.figure("first_eight_in_flight_equal_links",
                rounded_to(series.seconds(hash_) / series.seconds(equal_links_), 3));
  report.notes.push_back(
      "Principles: processors free, no jitter, clients begin in order of rank. More than one in flight is "
      "told for clients whose "
      "cards are no limit; with equal cards and servers that serve one transfer at a time, all servers turn "
      "to the same client "
      "and share its card: first_eight_in_flight_equal_links.");
}

}  // namespace tutti
