// tutti demo: MPI programs that fight over one storage, without and with coordination, live.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "cli/child.h"
#include "cli/cluster/temporary_cluster.h"
#include "cli/lab/competition.h"
#include "cli/lab/serving_view.h"
#include "cli/output.h"
#include "lab/experiments/window/testbed.h"
#include "policy/request/policy.h"

namespace tutti::cli {
namespace {

constexpr std::uint32_t kMostRounds = 20;

struct DemoOptions {
  std::string policy = "window";
  std::uint32_t rounds = 5;
  bool json = false;
};

// One competition and what came of it.
struct Outcome {
  std::string policy;
  RoundTimes times;
  std::vector<double> sorted;  // all of them
};

CompetitionOptions competition_of(const DemoOptions& options) {
  CompetitionOptions made;
  made.requests = 4;
  made.rounds = options.rounds;
  made.period = 2_s;
  return made;
}

double p99(const Outcome& outcome) { return outcome.sorted[(outcome.sorted.size() - 1) * 99 / 100]; }

Result<Outcome> compete(Competition& competition, const MpiProgram& program, const std::string& policy,
                        const CompetitionOptions& options, bool json) {
  if (!json) fmt::print("{}\n", policy);
  std::fflush(stdout);
  ServingView view(options.servers, !json && ::isatty(STDOUT_FILENO) == 1);
  auto times = competition.run(program, policy, [&view](Client& client) { view.look(client); });
  if (!times.ok()) return times.status();
  if (!json) fmt::print("{}\n", view.text());
  Outcome outcome{policy, *std::move(times), {}};
  for (const auto& rounds : outcome.times)
    outcome.sorted.insert(outcome.sorted.end(), rounds.begin(), rounds.end());
  std::sort(outcome.sorted.begin(), outcome.sorted.end());
  return outcome;
}

Result<std::vector<Outcome>> run_both(const Globals& globals, const DemoOptions& options, int interrupt) {
  const auto program = find_mpi_program();
  if (!program.ok()) return program.status();
  const CompetitionOptions how = competition_of(options);
  auto directory = TemporaryDirectory::create("tutti-demo", how.bytes() + 128_MiB);
  if (!directory.ok()) return directory.status();
  const TemporaryCluster cluster(*std::move(directory));
  if (!options.json) {
    fmt::print(
        "{} MPI programs of {} ranks read from {} data servers of this host at the same time, {} rounds of "
        "{} MiB "
        "each.\nThe disks are modelled, in real time; everything else is real.\nWhom each server serves, "
        "from left to "
        "right: 1 to {} is a program, * several at once, . nobody.\n\n",
        how.programs, how.ranks, how.servers, how.rounds,
        (how.request * how.requests * how.ranks).count() >> 20U, how.programs);
  }
  Competition competition(globals, cluster.state(), how, interrupt);
  TUTTI_TRY(competition.prepare());
  std::vector<Outcome> outcomes;
  for (const std::string& policy : {std::string("fcfs"), options.policy}) {
    auto outcome = compete(competition, *program, policy, how, options.json);
    if (!outcome.ok()) return outcome.status().with_context(policy);
    outcomes.push_back(*std::move(outcome));
  }
  return outcomes;
}

void print_table(const std::vector<Outcome>& outcomes) {
  Table table({"policy", ">a program waits", ">99th percentile", ">last round done"});
  for (const Outcome& each : outcomes) {
    table.add({each.policy, fmt::format("{:.3f} s", mean(each.sorted)), fmt::format("{:.3f} s", p99(each)),
               fmt::format("{:.3f} s", each.sorted.back())});
  }
  const double saved = reduction(mean(outcomes[0].sorted), mean(outcomes[1].sorted));
  fmt::print(
      "{}\nWith `{}` a program waits {:.0f} % {} on average for its last rank to have its bytes. All bytes "
      "were "
      "right.\nEverything is cleaned up; `tutti up` starts a cluster that stays, `tutti policy set` changes "
      "its "
      "policy.\n",
      table.text(), outcomes[1].policy, 100 * std::abs(saved), saved >= 0 ? "less" : "more");
}

Json to_json(const std::vector<Outcome>& outcomes) {
  Json policies = Json::array();
  for (const Outcome& each : outcomes) {
    policies.push_back({{"policy", each.policy},
                        {"rounds", each.times},
                        {"mean_seconds", mean(each.sorted)},
                        {"p99_seconds", p99(each)}});
  }
  return {{"policies", policies},
          {"measured", {{"reduction", reduction(mean(outcomes[0].sorted), mean(outcomes[1].sorted))}}}};
}

int run_demo(const Globals& globals, const DemoOptions& options) {
  const auto interrupt = catch_interrupts();
  if (!interrupt.ok()) return report("demo", interrupt.status());
  std::signal(SIGPIPE, SIG_IGN);
  const auto outcomes = run_both(globals, options, interrupt->get());
  if (!outcomes.ok()) {
    const bool interrupted = outcomes.code() == Code::cancelled;
    return interrupted ? (print_error("demo", outcomes.status()), kInterrupted)
                       : report("demo", outcomes.status());
  }
  if (options.json) return print_json(to_json(*outcomes));
  print_table(*outcomes);
  return kSuccess;
}

}  // namespace

void add_demo(Command& root) {
  auto options = std::make_shared<DemoOptions>();
  Command demo =
      root.add("demo", "Show MPI programs that fight over one storage, without and with coordination",
               "tutti demo --policy auto");
  demo.option("--policy", options->policy, "What is compared with fcfs, the default of a cluster")
      .show_default()
      .checked([](const std::string& text) { return make_request_policy(text).status(); });
  demo.option("--rounds", options->rounds, "How often every program reads, 1 to 20")
      .show_default()
      .range(1, kMostRounds);
  demo.flag("--json", options->json, "Print JSON");
  demo.action([&globals = root.globals(), options] { return run_demo(globals, *options); });
}

}  // namespace tutti::cli
