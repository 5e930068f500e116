#include "cli/bench/bench_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cli/command.h"
#include "cli/output.h"
#include "env/real/loop/loop.h"
#include "policy/orchestra/forward_reads.h"
#include "policy/orchestra/locality.h"
#include "policy/request/policy.h"

namespace tutti {
namespace {

struct Depth {
  std::uint64_t requests;
  const char* name;
};
constexpr std::array<Depth, 3> kDepths = {{{100, "100"}, {10'000, "10k"}, {1'000'000, "1m"}}};

// Name in the results, and the text that makes the policy.
std::vector<std::pair<std::string, std::string>> candidates() {
  std::vector<std::pair<std::string, std::string>> list;
  for (const std::string& name : request_policy_names()) {
    list.emplace_back(name, name);
    if (name != "window") continue;
    list.emplace_back("window_rotated", "window;order=rotated");
    list.emplace_back("window_smallest", "window;order=smallest");
    list.emplace_back("window_adaptive", "window;adaptive=true");
  }
  return list;
}

// From one request to the next, such that what is queued spans four seconds.
Nanos step_of(const Depth& depth) {
  return Nanos(std::max<std::int64_t>((4_s).count() / static_cast<std::int64_t>(depth.requests), 1));
}

// Requests made beforehand, so that chance costs no time while the clock runs.
std::vector<QueuedRequest> make_load(const QueueBenchOptions& options, const Depth& depth,
                                     bool all_different) {
  Random random(options.seed);
  const Nanos step = step_of(depth);
  std::vector<QueuedRequest> load(depth.requests + options.pairs);
  for (std::uint64_t i = 0; i < load.size(); ++i) {
    QueuedRequest& request = load[i];
    request.id = i + 1;
    request.application = 1 + (all_different ? i : random.below(options.applications));
    request.request_time = 1'700'000'000_s + step * static_cast<std::int64_t>(i);
    request.client = 1 + random.below(options.clients);
    request.sequence = i;
    request.object = 1 + (all_different ? i : random.below(options.objects));
    request.offset = 64_KiB * random.below(1024);
    request.length = 64_KiB;
    request.end = request.offset + request.length;
    request.write = random.chance(0.5);
    request.bottleneck = 64_KiB * (1 + request.application % 64);
  }
  return load;
}

Status remove_one(RequestPolicy& policy, Nanos& now) {
  Decision decision = policy.next(now);
  while (decision.kind == Decision::Kind::wait) {
    now = std::max(now + 1_ns, decision.until);
    decision = policy.next(now);
  }
  if (decision.kind == Decision::Kind::idle) {
    return {Code::internal, fmt::format("bench of {}: it serves nothing of {} requests queued", policy.name(),
                                        policy.queued())};
  }
  policy.served(decision.id, 64_KiB, true, now);
  return {};
}

Result<nlohmann::json> bench(const std::string& name, const std::string& text, const Depth& depth,
                             bool all_different, const std::function<Nanos()>& real_now,
                             const QueueBenchOptions& options) {
  auto policy = make_request_policy(text);
  if (!policy.ok()) return policy.status();
  const std::vector<QueuedRequest> load = make_load(options, depth, all_different);
  Nanos now = 1_s;
  std::uint64_t next = 0;
  for (; next < depth.requests; ++next) (*policy)->add(load[next], now);

  const Nanos step = step_of(depth);
  const Nanos start = real_now();
  for (; next < load.size(); ++next) {
    now += step;
    (*policy)->add(load[next], now);
    TUTTI_TRY(remove_one(**policy, now));
  }
  const double seconds = std::max((real_now() - start).seconds(), 1e-9);
  const auto pairs = static_cast<double>(options.pairs);
  return nlohmann::json{{"policy", name},
                        {"parameters", (*policy)->name()},
                        {"depth", depth.requests},
                        {"applications", all_different ? load.size() : options.applications},
                        {"objects", all_different ? load.size() : options.objects},
                        {"worst_case", all_different},
                        {"pairs", options.pairs},
                        {"pairs_per_second", pairs / seconds},
                        {"nanoseconds_per_pair", seconds * 1e9 / pairs}};
}

constexpr std::string_view kStatistics = "statistics";

// What a data server notes of a request for `orchestrated`: where it begins, who comes back, who reads forward.
double bench_statistics(const QueueBenchOptions& options, const std::function<Nanos()>& real_now) {
  const std::vector<QueuedRequest> load = make_load(options, {10'000, "10k"}, false);
  Locality locality;
  ForwardReads forward;
  std::uint64_t ahead = 0;
  const Nanos start = real_now();
  for (const QueuedRequest& request : load) {
    const Extent extent{request.offset, request.length};
    const Stretch stretch{Bytes(request.object << 30U) + request.offset, request.length};
    if (!request.write)
      ahead += forward.read(request.application, request.object, {&extent, 1}, 4_MiB).has_value() ? 1 : 0;
    locality.begin(request.application, {&stretch, 1}, true, request.length, Dedicated{1_s, false},
                   request.request_time);
  }
  const double seconds = (real_now() - start).seconds();
  // The count is used, so that no compiler leaves the work out.
  return (seconds + static_cast<double>(ahead) * 1e-15) * 1e9 / static_cast<double>(load.size());
}

}  // namespace

Result<nlohmann::json> bench_queue(const std::function<Nanos()>& real_now, const QueueBenchOptions& options) {
  nlohmann::json measured = nlohmann::json::object();
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [name, text] : candidates()) {
    if (!options.only.empty() && name != options.only) continue;
    for (const Depth& depth : kDepths) {
      if (depth.requests > options.deepest) continue;
      for (const bool all_different : {false, true}) {
        auto row = bench(name, text, depth, all_different, real_now, options);
        if (!row.ok()) return row.status();
        if (!all_different)
          measured[fmt::format("{}_pairs_per_second_{}", name, depth.name)] = (*row)["pairs_per_second"];
        rows.push_back(std::move(*row));
      }
    }
  }
  if (options.only.empty() || options.only == kStatistics)
    measured["statistics_nanoseconds"] = bench_statistics(options, real_now);
  return nlohmann::json{{"benchmark", "queue"}, {"measured", std::move(measured)}, {"rows", std::move(rows)}};
}

}  // namespace tutti

namespace tutti::cli {
namespace {

int run_bench_queue(const QueueBenchOptions& options, bool json) {
  Executor executor;
  const RealClock clock(executor);
  const auto result = bench_queue([&clock] { return clock.now(); }, options);
  if (!result.ok()) return report("bench queue", result.status());
  if (json) return print_json(*result);
  Table table({"policy", ">pairs per second at depth 100", ">10,000", ">1,000,000"});
  const auto& measured = (*result)["measured"];
  constexpr std::string_view kFirst = "_pairs_per_second_100";
  for (const auto& [key, value] : measured.items()) {
    if (!key.ends_with(kFirst)) continue;
    const std::string name = key.substr(0, key.size() - kFirst.size());
    std::vector<std::string> row = {name};
    for (const char* depth : {"100", "10k", "1m"}) {
      const std::string figure = fmt::format("{}_pairs_per_second_{}", name, depth);
      row.push_back(measured.contains(figure) ? fmt::format("{:.0f}", measured[figure].get<double>()) : "-");
    }
    table.add(std::move(row));
  }
  fmt::print("A pair is the arrival of one request and the service of another.\n\n{}", table.text());
  if (measured.contains("statistics_nanoseconds"))
    fmt::print("\nStatistics for orchestrated service: {:.0f} ns per request.\n",
               measured["statistics_nanoseconds"].get<double>());
  return kSuccess;
}

}  // namespace

void add_bench_queue(Command& bench) {
  auto options = std::make_shared<QueueBenchOptions>();
  auto json = std::make_shared<bool>(false);
  Command queue = bench.add("queue", "Speed of the request queue, every policy", "tutti bench queue --json");
  queue.option("--applications", options->applications, "Applications that ask")
      .show_default()
      .range(1, 1'000'000);
  std::vector<std::string> names;
  for (const auto& [name, text] : candidates()) names.push_back(name);
  names.emplace_back(kStatistics);
  queue.option("--only", options->only, "One policy, by its name in the table, or statistics").one_of(names);
  queue.option("--seed", options->seed, "Decides every chance").show_default();
  queue.flag("--json", *json, "Print JSON");
  queue.action([options, json] { return run_bench_queue(*options, *json); });
}

}  // namespace tutti::cli
