// tutti bench gate: what a turn costs, how many turns a coordinator gives, and what a probe costs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cli/bench/bench_worker.h"
#include "cli/bench/pingpong.h"
#include "cli/command.h"
#include "cli/gate/launch.h"
#include "cli/gate/prober.h"
#include "cli/gate/temporary_gate.h"
#include "cli/output.h"

namespace tutti::cli {
namespace {

constexpr std::size_t kSamples = 2000;
constexpr std::size_t kServers = 16;  // over which the jobs of the second part are spread

struct BenchGateOptions {
  int rounds = 7;
  int jobs = 1000;
  int seconds = 3;
  std::string probe_directory;
  bool json = false;
};

struct Measured {
  std::string pinning;
  std::vector<double> pingpong, turn, turn_p99, ratio;  // p50, nanoseconds
};

GateAsk ask_for(std::string resource) {
  GateAsk ask;
  ask.resources = {std::move(resource)};
  ask.alone = true;
  return ask;
}

Task<bool> take_turns(GateSession& session, Clock& clock, std::vector<std::int64_t>& samples) {
  for (std::int64_t& sample : samples) {
    const Nanos started = clock.now();
    const GateTurn turn = co_await session.acquire(ask_for("bench"));
    if (turn.outcome != GateOutcome::granted) co_return false;
    session.release(turn.number);
    sample = (clock.now() - started).count();
  }
  co_return true;
}

Status measure_latency(GateWorld& world, GateSession& session, pid_t daemon, Measured& into, int client_cpu,
                       int server_cpu, bool count) {
  TUTTI_TRY(pin_process(daemon, server_cpu));
  TUTTI_TRY(pin_process(0, client_cpu));
  const auto bare = bare_pingpong(world.loop.clock(), kSamples, server_cpu);
  if (!bare.ok()) return bare.status();
  std::vector<std::int64_t> samples(kSamples);
  if (!world.loop.run(take_turns(session, world.loop.clock(), samples)))
    return {Code::unavailable, "the gate did not grant a turn"};
  const Percentiles turn = percentiles(samples);
  if (!count) return {};
  into.pingpong.push_back(bare->p50);
  into.turn.push_back(turn.p50);
  into.turn_p99.push_back(turn.p99);
  into.ratio.push_back(turn.p50 / bare->p50);
  return {};
}

Task<void> take_turns_until(GateSession& session, std::string resource, Clock& clock, Nanos end,
                            std::uint64_t& granted) {
  while (clock.now() < end) {
    const GateTurn turn = co_await session.acquire(ask_for(resource));
    if (turn.outcome == GateOutcome::granted) ++granted;
    session.release(turn.number);
  }
}

// Turns per second while all jobs are in the queues of so many servers.
Result<double> measure_throughput(GateWorld& world, const BenchGateOptions& options, std::size_t servers) {
  std::vector<std::unique_ptr<GateSession>> sessions;
  Globals globals;
  for (int i = 0; i < options.jobs; ++i) {
    GateSessionOptions session = world.session_options(globals, fmt::format("job {}", i));
    session.patience = 60_s;
    sessions.push_back(std::make_unique<GateSession>(world.env(), session));
    const auto connected = world.loop.run(sessions.back()->server().connect());
    if (!connected.ok()) return connected.status();
  }
  std::uint64_t granted = 0;
  const Nanos started = world.loop.clock().now();
  const Nanos end = started + Nanos(std::int64_t{options.seconds} * 1'000'000'000);
  Scope scope(world.loop.executor());
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    scope.spawn(take_turns_until(*sessions[i], fmt::format("server {}", i % servers), world.loop.clock(), end,
                                 granted));
  }
  while (world.loop.clock().now() < end) world.loop.run_once(end - world.loop.clock().now());
  const double seconds = (world.loop.clock().now() - started).seconds();
  const double rate = static_cast<double>(granted) / seconds;
  world.loop.run(scope.join());
  return rate;
}

int run_bench_gate(const Globals& globals, const BenchGateOptions& options) {
  auto gate = TemporaryGate::start();
  if (!gate.ok()) return report("bench gate", gate.status());
  Globals own = globals;
  own.directory = (*gate)->state().path();
  own.cluster.clear();
  auto world = GateWorld::open(own);
  if (!world.ok()) return report("bench gate", world.status());
  const auto daemon = (*gate)->state().running("coordinator");
  if (!daemon) return report("bench gate", {Code::unavailable, "the coordinator has ended"});
  std::vector<Measured> pinnings;
  if (::sysconf(_SC_NPROCESSORS_ONLN) > 1) pinnings.push_back({"two_cores", {}, {}, {}, {}});
  pinnings.push_back({"one_core", {}, {}, {}, {}});
  {
    GateSession session((*world)->env(), (*world)->session_options(own, "bench"));
    for (int round = 0; round <= options.rounds; ++round) {
      for (Measured& each : pinnings) {
        const int server_cpu = each.pinning == "two_cores" ? 1 : 0;
        const Status status = measure_latency(**world, session, *daemon, each, 0, server_cpu, round > 0);
        if (!status.ok()) return report("bench gate", status);
      }
    }
  }
  if (pinnings.size() > 1) {
    if (const Status pinned = pin_process(*daemon, 1); !pinned.ok()) return report("bench gate", pinned);
  }
  const auto rate = measure_throughput(**world, options, kServers);
  if (!rate.ok()) return report("bench gate", rate.status());
  const auto rate_of_one = measure_throughput(**world, options, 1);
  if (!rate_of_one.ok()) return report("bench gate", rate_of_one.status());

  const std::string probed =
      options.probe_directory.empty() ? (*gate)->state().path() : options.probe_directory;
  gate::BackoffOptions backoff;
  std::vector<double> probe_seconds;
  for (std::uint32_t i = 0; i < backoff.probes * 3; ++i) {
    const auto took = probe(probed, backoff.data_size);
    if (!took.ok()) return report("bench gate", took.status());
    probe_seconds.push_back(took->seconds());
  }
  Json measured = Json::object();
  for (const Measured& each : pinnings) {
    for (const std::string& prefix : {each.pinning + "_", std::string()}) {
      // The plain names are those of the usual case: a core each where there are two.
      if (prefix.empty() && &each != &pinnings.front()) continue;
      measured[prefix + "acquire_release_p50_us"] = median(each.turn) / 1000;
      measured[prefix + "acquire_release_p99_us"] = median(each.turn_p99) / 1000;
      measured[prefix + "pingpong_p50_us"] = median(each.pingpong) / 1000;
      measured[prefix + "over_pingpong"] = median(each.ratio);
    }
  }
  measured["grants_per_second"] = *rate;
  measured["grants_per_second_one_server"] = *rate_of_one;
  measured["jobs"] = options.jobs;
  measured["probe_ms"] = median(probe_seconds) * 1000;
  measured["probing_bytes"] = backoff.written_by_probing().count();
  if (options.json)
    return print_json({{"benchmark", "gate"}, {"rounds", options.rounds}, {"measured", measured}});
  Table table({"client and coordinator on", ">ping-pong p50 us", ">turn p50 us", ">turn p99 us", ">ratio"});
  for (const Measured& each : pinnings) {
    table.add(
        {each.pinning == "one_core" ? "one core" : "two cores",
         fmt::format("{:.1f}", median(each.pingpong) / 1000), fmt::format("{:.1f}", median(each.turn) / 1000),
         fmt::format("{:.1f}", median(each.turn_p99) / 1000), fmt::format("{:.2f}", median(each.ratio))});
  }
  fmt::print("An uncontended turn, asked for and given back, beside a bare Unix-socket ping-pong.\n\n{}\n",
             table.text());
  fmt::print("With {} jobs in the queues: {:.0f} turns per second on {} servers, {:.0f} on one.\n",
             options.jobs, *rate, kServers, *rate_of_one);
  fmt::print("A probe of {} bytes in {} takes {:.1f} ms.\n", backoff.data_size.count(), probed,
             median(probe_seconds) * 1000);
  return kSuccess;
}

}  // namespace

void add_bench_gate(Command& bench) {
  auto options = std::make_shared<BenchGateOptions>();
  Command gate = bench.add("gate", "What a turn at the gate costs, and how many the coordinator gives",
                           "tutti bench gate --json");
  gate.option("--rounds", options->rounds, "Rounds to take the median of").range(1, 1000);
  gate.option("--jobs", options->jobs, "Jobs in the queue").range(1, 10'000);
  gate.option("--seconds", options->seconds, "How long to count turns").range(1, 600);
  gate.option("--probe", options->probe_directory, "Where to probe; default: in memory");
  gate.flag("--json", options->json, "Print JSON");
  gate.action([&globals = bench.globals(), options] { return run_bench_gate(globals, *options); });
}

}  // namespace tutti::cli
