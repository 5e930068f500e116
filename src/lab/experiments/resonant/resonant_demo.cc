// resonant-demo: figures 2 and 5. Two and four processes read four segments each in a call, segments of 32 KiB to 1 MiB.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/experiments/resonant/bed.h"
#include "lab/experiments/window/testbed.h"
#include "policy/collective/plan.h"
#include "policy/request/window_options.h"

namespace tutti {
namespace {

using namespace resonance;

struct Point {
  std::uint32_t processes;
  Bytes segment;
  std::size_t apart = 0;  // without collective calls
  Pair letter;
  Pair users;
};

std::vector<Point> add_grid(Points& points, bool quick, Bytes file) {
  std::vector<Point> grid;
  for (const std::uint32_t processes : {2U, 4U}) {
    for (Bytes segment = 32_KiB; segment <= 1_MiB; segment = segment * 2) {
      if (quick && segment != 64_KiB && segment != 128_KiB) continue;
      Point point{processes, segment, 0, {}, {}};
      const Json parameters = {{"processes", processes}, {"segment", to_string(segment)}};
      point.apart = points.add(parameters, Bed(), letter_independent(), demo_apart(processes, segment, file));
      point.letter = add_letter(points, parameters, demo(processes, segment, file));
      point.users = {
          points.add(parameters, Bed(), {"two_phase", default_policy(true)}, demo(processes, segment, file)),
          points.add(parameters, Bed(), {"resonant", default_policy(true)}, demo(processes, segment, file))};
      grid.push_back(point);
    }
  }
  return grid;
}

// What ranks that take turns make of the time from one group's requests to the next one's.
std::vector<std::size_t> add_delays(Points& points, Bytes file, bool pentium) {
  std::vector<std::size_t> at;
  Bed bed;
  bed.pentium = pentium;
  for (const int delay : {100, 200, 500, 1000}) {
    const Way way{fmt::format("resonant;delay={}", delay), "fcfs_serial", 4_MiB, Kernel::linux_2_6_21};
    at.push_back(
        points.add({{"delay_us", delay}, {"pentium", pentium}}, bed, way, mpi_io_test(4, 256_KiB, file)));
  }
  return at;
}

// What the servers' processor takes of the letter's gain, and what it takes that agents read their own bytes a second time, as all
// others do.
using Readings = std::map<std::string, Pair>;
Readings add_readings(Points& points, Bytes file) {
  Bed free;
  free.pentium = false;
  Way others = letter_resonant();
  const std::string_view all = name_of(ReadForm::reread_all);
  others.plan.replace(others.plan.find(all), all.size(), name_of(ReadForm::reread));
  Readings readings;
  for (const auto& [name, load] :
       {std::pair("4_64k", demo(4, 64_KiB, file)), {"2_128k", demo(2, 128_KiB, file)}}) {
    const Json parameters = {{"reading", name}};
    const std::string prefix(name);
    readings[prefix + "_free_processor"] = add_letter(points, parameters, load, free);
    readings[prefix + "_reread_of_others"] = {points.add(parameters, Bed(), letter_two_phase(), load),
                                              points.add(parameters, Bed(), others, load)};
    readings[prefix + "_both"] = {readings[prefix + "_free_processor"].without,
                                  points.add(parameters, free, others, load)};
  }
  return readings;
}

// What users have, and resonance over it.
struct Users {
  std::map<std::string, std::size_t> at;
};
Users add_users(Points& points, Bytes segment, Bytes file) {
  Users users;
  const Json parameters = {{"processes", 4}, {"segment", to_string(segment)}};
  for (const std::string& policy : {std::string("fcfs;dispatch_depth=16"), default_policy(true)}) {
    const std::string name = policy.substr(0, policy.find(';'));
    for (const std::string plan :
         {"independent", "two_phase", "two_phase;domains=cyclic", "resonant", "auto"})
      users.at[name + " " + plan] = points.add(parameters, Bed(), {plan, policy}, demo(4, segment, file));
  }
  users.at["small buffers"] =
      points.add(parameters, Bed(), {"two_phase", default_policy(true), 4_MiB}, demo(4, segment, file));
  return users;
}

void report_users(Report& report, const Points& points, const Users& users, const std::string& suffix) {
  const auto rate = [&](const std::string& name) { return points.rate(users.at.at(name)); };
  report.figure("users_over_two_phase_window_" + suffix,
                rounded(rate("window resonant") / rate("window two_phase") - 1));
  report.figure("users_over_two_phase_fcfs_" + suffix,
                rounded(rate("fcfs resonant") / rate("fcfs two_phase") - 1));
  report.figure("users_over_cyclic_" + suffix,
                rounded(rate("window resonant") / rate("window two_phase;domains=cyclic") - 1));
  report.figure("users_over_independent_" + suffix,
                rounded(rate("window resonant") / rate("window independent") - 1));
}

Result<Report> run(const ExperimentOptions& options) {
  const Bytes file = options.quick ? 32_MiB : 256_MiB;
  Points points(options, options.quick ? 1 : 5);
  const std::vector<Point> grid = add_grid(points, options.quick, file);
  std::map<std::int64_t, Pair> jitter;
  if (!options.quick) {
    for (const std::int64_t wake : {0, 50, 200, 500}) {
      Bed bed;
      bed.wake_jitter = 1_us * wake;
      jitter[wake] = add_letter(points, {{"jitter_us", wake}}, demo(4, 64_KiB, file), bed);
    }
  }
  const std::vector<std::size_t> delays = add_delays(points, file, true);
  const std::vector<std::size_t> free_delays = add_delays(points, file, false);
  const Users users_64 = add_users(points, 64_KiB, file);
  const Users users_256 = add_users(points, 256_KiB, file);
  const Readings readings = options.quick ? Readings() : add_readings(points, file);
  Bed unread;
  unread.read_ahead = 0_B;
  const Pair no_ahead = add_letter(points, {{"read_ahead", "off"}}, demo(4, 64_KiB, file), unread);
  const std::size_t window_jumps =
      points.add({{"read_ahead", "off"}}, unread, {"two_phase", for_device("window;ahead=0", true), 4_MiB},
                 demo(4, 64_KiB, file));
  TUTTI_TRY(points.run());
  Points whole(options, 1);
  const Bytes full = options.quick ? 64_MiB : 10_GiB;
  const Pair full_size = add_letter(whole, {{"file", to_string(full)}}, demo(4, 64_KiB, full));
  TUTTI_TRY(whole.run());

  Report report;
  report.settings = settings(points.seeds());
  report.rows = points.rows();
  for (const Json& row : whole.rows()) report.rows.push_back(row);
  double worst = 10;
  double worst_letter = 10;
  double gain_64 = 0;
  for (const Point& point : grid) {
    worst = std::min(worst, 1 + gain(points, point.users));
    worst_letter = std::min(worst_letter, 1 + gain(points, point.letter));
    const std::string name = fmt::format("{}_{}k", point.processes, point.segment / 1_KiB);
    if (point.segment == 64_KiB || point.segment == 128_KiB) {
      report.figure("independent_" + name, rounded(points.rate(point.apart)));
      report.figure("two_phase_" + name, rounded(points.rate(point.letter.without)));
      const bool four = point.processes == 4 && point.segment == 64_KiB;
      const bool two = point.processes == 2 && point.segment == 128_KiB;
      report.figure("gain_" + name, rounded(gain(points, point.letter)),
                    four  ? std::optional(1.51)
                    : two ? std::optional(0.75)
                          : std::nullopt,
                    four  ? "in 1.2..1.9"
                    : two ? "in 0.5..1.0"
                          : "");
    }
    if (point.processes == 4 && point.segment == 64_KiB) {
      gain_64 = gain(points, point.letter);
      report.figure("resonant_over_independent_64k",
                    rounded(points.rate(point.letter.with) / points.rate(point.apart)), 105.0 / 175,
                    "<= 1.0");
    }
  }
  const auto spread = [&points](const std::vector<std::size_t>& at) {
    std::vector<double> rates;
    for (const std::size_t each : at) rates.push_back(points.rate(each));
    const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
    return rounded((*most - *least) / *most);
  };
  report.figure("delay_spread", spread(delays), {}, "<= 0.05");
  report.figure("delay_spread_free_processor", spread(free_delays));
  report.figure("forced_worst_ratio", rounded(worst), {}, ">= 0.95");
  report.figure("letter_worst_ratio", rounded(worst_letter));
  report.figure("jumps_one_by_one", rounded(points.jumps(no_ahead.without)), 3.19);
  report.figure("jumps_window", rounded(points.jumps(window_jumps)), 1.69);
  report.figure("jumps_resonant", rounded(points.jumps(no_ahead.with)), 0);
  for (const auto& [name, pair] : readings) report.figure("gain_" + name, rounded(gain(points, pair)));
  for (const auto& [wake, pair] : jitter)
    report.figure(fmt::format("gain_jitter_{}us", wake), rounded(gain(points, pair)));
  report.figure("full_size_gain", rounded(gain(whole, full_size)));
  report.figure("full_size_over_short", rounded((1 + gain(whole, full_size)) / (1 + gain_64)), {},
                "0.98..1.02");
  report_users(report, points, users_64, "64k");
  report_users(report, points, users_256, "256k");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::resonant_demo = {
    "resonant-demo", "collective reads of interleaved segments, by segment size", run};

}  // namespace tutti
