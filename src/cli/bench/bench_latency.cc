// tutti bench latency: 4 KiB cached reads beside a bare Unix-socket ping-pong, in one run and with the same
// pinning.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/bench/bench_worker.h"
#include "cli/client.h"
#include "cli/cluster/temporary_cluster.h"
#include "cli/output.h"

namespace tutti::cli {
namespace {

constexpr std::uint64_t kFileSize = 16ULL << 20U;
constexpr std::size_t kSamples = 2000;

struct BenchLatencyOptions {
  int rounds = 11;
  bool json = false;
};

struct Pinning {
  std::string name;
  int client_cpu = 0;
  int server_cpu = 0;
  std::vector<double> read_p50, read_p99, ping_p50, ratio;
};

Status pin_daemons(const StateDirectory& state, int cpu) {
  for (const std::string& name : daemon_names(1)) {
    const auto pid = state.running(name);
    if (!pid) return {Code::unavailable, "daemon " + name + " has ended"};
    TUTTI_TRY(pin_process(*pid, cpu).with_context("daemon " + name));
  }
  return {};
}

Status measure_round(BenchWorkers& workers, const StateDirectory& state, Pinning& pinning, bool count) {
  TUTTI_TRY(pin_daemons(state, pinning.server_cpu));
  TUTTI_TRY(workers.ask(fmt::format("pin {}", pinning.client_cpu), 1).status());
  const auto ping = workers.ask(fmt::format("pingpong {} {}", kSamples, pinning.server_cpu), 1);
  if (!ping.ok()) return ping.status();
  const auto read = workers.ask(fmt::format("latency {}", kSamples), 1);
  if (!read.ok()) return read.status();
  if (!count) return {};
  pinning.ping_p50.push_back((*ping)[0][0]);
  pinning.read_p50.push_back((*read)[0][0]);
  pinning.read_p99.push_back((*read)[0][1]);
  pinning.ratio.push_back((*read)[0][0] / (*ping)[0][0]);
  return {};
}

Result<std::vector<Pinning>> measure(const Globals& globals, const BenchLatencyOptions& options) {
  auto directory = TemporaryDirectory::create("tutti-bench", Bytes(2 * kFileSize + (64ULL << 20U)));
  if (!directory.ok()) return directory.status();
  const TemporaryCluster cluster(*std::move(directory));
  UpOptions up;
  up.servers = 1;
  const auto config = bring_up(globals, cluster.state(), up);
  if (!config.ok()) return config.status();
  auto client = Client::open(globals, config->config);
  if (!client.ok()) return client.status();
  const std::string raw = cluster.state().path() + "/raw";
  const std::vector<std::byte> zeros(kFileSize);
  const Fd raw_file(::open(raw.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!raw_file.valid()) return Status::from_errno(errno, "create " + raw);
  OpenOptions open;
  open.write = true;
  open.create = true;
  auto file = (*client)->run((*client)->files().open("/bench", open));
  if (!file.ok()) return file.status();
  TUTTI_TRY((*client)->run((*file)->write(Bytes(0), zeros)));
  TUTTI_TRY((*client)->run((*file)->close()));
  auto workers = BenchWorkers::start(cluster.state().path(), raw, "/bench", kFileSize, 1);
  if (!workers.ok()) return workers.status();

  std::vector<Pinning> pinnings;
  if (::sysconf(_SC_NPROCESSORS_ONLN) > 1) pinnings.push_back(Pinning{"two_cores", 0, 1, {}, {}, {}, {}});
  pinnings.push_back(Pinning{"one_core", 0, 0, {}, {}, {}, {}});
  for (int round = 0; round <= options.rounds; ++round) {
    for (Pinning& pinning : pinnings) TUTTI_TRY(measure_round(*workers, cluster.state(), pinning, round > 0));
  }
  return pinnings;
}

int run_bench_latency(const Globals& globals, const BenchLatencyOptions& options) {
  const auto pinnings = measure(globals, options);
  if (!pinnings.ok()) return report("bench latency", pinnings.status());
  Json measured = Json::object();
  Json rows = Json::array();
  Table table({"client and server on", ">ping-pong p50 us", ">read p50 us", ">read p99 us", ">ratio"});
  for (const Pinning& pinning : *pinnings) {
    const double ratio = median(pinning.ratio);
    // The plain names are those of the usual case: a core each where there are two.
    for (const std::string& prefix : {pinning.name + "_", std::string()}) {
      if (prefix.empty() && &pinning != &pinnings->front()) continue;
      measured[prefix + "read_4k_p50_over_pingpong"] = ratio;
      measured[prefix + "read_4k_p50_us"] = median(pinning.read_p50) / 1000;
      measured[prefix + "read_4k_p99_us"] = median(pinning.read_p99) / 1000;
      measured[prefix + "pingpong_p50_us"] = median(pinning.ping_p50) / 1000;
    }
    rows.push_back({{"pinning", pinning.name},
                    {"pingpong_p50_ns", pinning.ping_p50},
                    {"read_4k_p50_ns", pinning.read_p50},
                    {"read_4k_p99_ns", pinning.read_p99}});
    table.add({pinning.name == "one_core" ? "one core" : "two cores",
               fmt::format("{:.1f}", median(pinning.ping_p50) / 1000),
               fmt::format("{:.1f}", median(pinning.read_p50) / 1000),
               fmt::format("{:.1f}", median(pinning.read_p99) / 1000), fmt::format("{:.2f}", ratio)});
  }
  if (options.json) {
    return print_json(
        {{"benchmark", "latency"}, {"rounds", options.rounds}, {"measured", measured}, {"rows", rows}});
  }
  fmt::print(
      "4 KiB cached reads by one client from one data server, beside a bare Unix-socket ping-pong.\n\n{}",
      table.text());
  return kSuccess;
}

}  // namespace

void add_bench_latency(Command& bench) {
  auto options = std::make_shared<BenchLatencyOptions>();
  Command latency = bench.add("latency", "Latency of 4 KiB cached reads beside a bare ping-pong",
                              "tutti bench latency --json");
  latency.option("--rounds", options->rounds, "Rounds to take the median of").range(1, 1000);
  latency.flag("--json", options->json, "Print JSON");
  latency.action([&globals = bench.globals(), options] { return run_bench_latency(globals, *options); });
}

}  // namespace tutti::cli
