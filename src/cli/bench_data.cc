// tutti bench data: raw pread and pwrite beside the same through a cluster, in one run and interleaved.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/bench_worker.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/temporary_cluster.h"

namespace tutti::cli {
namespace {

constexpr std::uint32_t kServers = 4;
constexpr std::size_t kClients = 4;
constexpr std::uint64_t kFileSize = 256ULL << 20U;

struct BenchDataOptions {
  int rounds = 7;
  bool json = false;
};

struct Point {
  bool write = false;
  std::uint64_t size = 0;
  std::size_t clients = 0;
  std::vector<double> raw, tutti, ratio;  // MiB/s, a round each
};

std::string size_name(std::uint64_t size) { return size == (1U << 20U) ? "1m" : "64k"; }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Both files exist in full before anything is measured: first writes are dominated by page allocation.
Status make_files(Client& client, const std::string& raw, const std::string& path) {
  const std::vector<std::byte> zeros(8U << 20U);
  const Fd local(::open(raw.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!local.valid()) return Status::from_errno(errno, "create " + raw);
  OpenOptions open;
  open.write = true;
  open.create = true;
  auto file = client.run(client.files().open(path, open));
  if (!file.ok()) return file.status();
  for (std::uint64_t at = 0; at < kFileSize; at += zeros.size()) {
    TUTTI_TRY(pwrite_all(local.get(), zeros, at, raw));
    TUTTI_TRY(client.run((*file)->write(Bytes(at), zeros)));
  }
  return client.run((*file)->close());
}

Result<double> throughput(BenchWorkers& workers, bool raw, const Point& point) {
  // One client gets its quarter of the file four times over, so that every measurement moves the same bytes.
  const std::size_t passes = 2 * kClients / point.clients;
  const auto answers = workers.ask(fmt::format("transfer {} {} {} {}", raw ? "raw" : "tutti",
                                               point.write ? "write" : "read", point.size, passes),
                                   point.clients);
  if (!answers.ok()) return answers.status();
  double slowest = 0;
  for (const auto& row : *answers) slowest = std::max(slowest, row[0]);
  const double bytes = static_cast<double>(kFileSize / kClients * point.clients * passes);
  return bytes / (1 << 20) / (slowest * 1e-9);
}

Result<std::vector<Point>> measure(const Globals& globals, const BenchDataOptions& options) {
  auto directory = TemporaryDirectory::create("tutti-bench", Bytes(2 * kFileSize + (64ULL << 20U)));
  if (!directory.ok()) return directory.status();
  const TemporaryCluster cluster(*std::move(directory));
  UpOptions up;
  up.servers = kServers;
  const auto config = bring_up(globals, cluster.state(), up);
  if (!config.ok()) return config.status();
  auto client = Client::open(globals, config->config);
  if (!client.ok()) return client.status();
  const std::string raw = cluster.state().path() + "/raw";
  TUTTI_TRY(make_files(**client, raw, "/bench"));
  auto workers = BenchWorkers::start(cluster.state().path(), raw, "/bench", kFileSize, kClients);
  if (!workers.ok()) return workers.status();

  std::vector<Point> points;
  for (const std::size_t clients : {std::size_t{1}, kClients}) {
    for (const std::uint64_t size : {64ULL << 10U, 1ULL << 20U}) {
      for (const bool write : {true, false}) points.push_back(Point{write, size, clients, {}, {}, {}});
    }
  }
  // Round 0 warms up. Raw and Tutti alternate at once, so that what disturbs one disturbs the other.
  for (int round = 0; round <= options.rounds; ++round) {
    for (Point& point : points) {
      const auto base = throughput(*workers, true, point);
      if (!base.ok()) return base.status();
      const auto ours = throughput(*workers, false, point);
      if (!ours.ok()) return ours.status();
      if (round == 0) continue;
      point.raw.push_back(*base);
      point.tutti.push_back(*ours);
      point.ratio.push_back(*ours / *base);
    }
    if (!options.json && ::isatty(STDERR_FILENO) == 1)
      fmt::print(stderr, "\rround {} of {}", round, options.rounds);
  }
  if (!options.json && ::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K");
  return points;
}

int run_bench_data(const Globals& globals, const BenchDataOptions& options) {
  const auto points = measure(globals, options);
  if (!points.ok()) return report("bench data", points.status());
  Json measured = Json::object();
  Json rows = Json::array();
  Table table({"operation", ">transfer", ">clients", ">raw MiB/s", ">Tutti MiB/s", ">ratio"});
  for (const Point& point : *points) {
    const std::string operation = point.write ? "write" : "read";
    const std::string name = fmt::format("{}_{}_{}", operation, size_name(point.size), point.clients);
    measured[name + "_ratio"] = median(point.ratio);
    measured[name + "_mib_s"] = median(point.tutti);
    rows.push_back({{"operation", operation},
                    {"transfer_bytes", point.size},
                    {"clients", point.clients},
                    {"raw_mib_s", point.raw},
                    {"tutti_mib_s", point.tutti},
                    {"ratio", point.ratio}});
    table.add({operation, to_string(Bytes(point.size)), std::to_string(point.clients),
               fmt::format("{:.0f}", median(point.raw)), fmt::format("{:.0f}", median(point.tutti)),
               fmt::format("{:.2f}", median(point.ratio))});
  }
  if (options.json) {
    return print_json({{"benchmark", "data"},
                       {"servers", kServers},
                       {"rounds", options.rounds},
                       {"measured", measured},
                       {"rows", rows}});
  }
  fmt::print(
      "Rewriting and reading a file of {} on {} data servers of this machine; medians of {} rounds.\n\n{}",
      to_string(Bytes(kFileSize)), kServers, options.rounds, table.text());
  return kSuccess;
}

}  // namespace

void add_bench_data(Command& bench) {
  auto options = std::make_shared<BenchDataOptions>();
  Command data =
      bench.add("data", "Throughput of the data path beside raw pread and pwrite", "tutti bench data --json");
  data.option("--rounds", options->rounds, "Rounds to take the median of").range(1, 1000);
  data.flag("--json", options->json, "Print JSON");
  data.action([&globals = bench.globals(), options] { return run_bench_data(globals, *options); });
}

}  // namespace tutti::cli
