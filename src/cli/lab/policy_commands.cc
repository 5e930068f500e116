// tutti model, tutti bench queue: request policies on paper and by the clock.
#include <memory>

#include "cli/command.h"
#include "cli/output.h"
#include "env/real/loop/loop.h"
#include "cli/bench/bench_queue.h"
#include "policy/request/analysis.h"

namespace tutti::cli {
namespace {

struct ModelOptions {
  std::uint64_t applications = 10;
  std::uint64_t servers = 8;
  bool json = false;
};

int run_model(const ModelOptions& options) {
  const double without = uncoordinated_completion(options.applications, options.servers);
  const double with = coordinated_completion(options.applications);
  const double rate = completion_reduction_rate(options.applications, options.servers);
  if (options.json) {
    return print_json({{"applications", options.applications},
                       {"servers", options.servers},
                       {"measured",
                        {{"uncoordinated", without},
                         {"coordinated", with},
                         {"reduction", completion_reduction(options.applications, options.servers)},
                         {"reduction_rate", rate}}}});
  }
  fmt::print(
      "{} applications ask {} servers at once; a server needs the time t for each of them.\n"
      "Mean completion, every server in an order of its own (formula 1): {:.3f} t\n"
      "Mean completion, all servers in the same order (formula 2):       {:.3f} t\n"
      "Reduction (formula 3):                                            {:.3f} t, {:.1f} %\n",
      options.applications, options.servers, without, with, without - with, 100 * rate);
  return kSuccess;
}

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
  return kSuccess;
}

}  // namespace

void add_model(Command& root) {
  auto options = std::make_shared<ModelOptions>();
  Command model = root.add("model", "What serving applications in the same order gives in theory",
                           "tutti model --apps 10 --servers 64");
  model.option("--apps", options->applications, "Applications that ask at once")
      .show_default()
      .range(1, 100'000);
  model.option("--servers", options->servers, "Data servers").show_default().range(1, 1'000'000);
  model.flag("--json", options->json, "Print JSON");
  model.action([options] { return run_model(*options); });
}

void add_bench_queue(Command& bench) {
  auto options = std::make_shared<QueueBenchOptions>();
  auto json = std::make_shared<bool>(false);
  Command queue = bench.add("queue", "Speed of the request queue, every policy", "tutti bench queue --json");
  queue.option("--applications", options->applications, "Applications that ask")
      .show_default()
      .range(1, 1'000'000);
  queue.option("--seed", options->seed, "Decides every chance").show_default();
  queue.flag("--json", *json, "Print JSON");
  queue.action([options, json] { return run_bench_queue(*options, *json); });
}

}  // namespace tutti::cli
