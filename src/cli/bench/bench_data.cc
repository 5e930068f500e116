// tutti bench data: raw pread and pwrite beside the same through a cluster, in one run and interleaved.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/bench/bench_worker.h"
#include "cli/client.h"
#include "cli/cluster/temporary_cluster.h"
#include "cli/output.h"

namespace tutti::cli {
namespace {

constexpr std::uint32_t kServers = 4;
constexpr std::size_t kClients = 4;
constexpr std::uint64_t kFileSize = 256ULL << 20U;

struct BenchDataOptions {
  int rounds = 15;
  std::string only;  // points whose names begin so
  std::string protect = "none";
  std::string checksums = "auto";
  std::string place;  // where the cluster's files are; empty: in memory if there is room
  bool json = false;
};

struct Point {
  std::string base;  // what Tutti is measured against: "raw", "tcp" or "tcp_file"
  bool write = false;
  bool fresh = false;  // into new files
  std::uint64_t size = 0;
  std::size_t clients = 0;
  std::vector<double> raw, tutti, ratio;  // MiB/s, a round each
};

std::string operation_name(const Point& point) {
  return point.fresh ? "fresh_write" : point.write ? "write" : "read";
}

std::string size_name(std::uint64_t size) { return size == (1U << 20U) ? "1m" : "64k"; }

// "write_1m_4", "fresh_write_1m_4" on the local path, "tcp_write_1m", "tcp_file_write_1m" on TCP.
std::string point_name(const Point& point) {
  const std::string operation = operation_name(point);
  if (point.base != "raw") return fmt::format("{}_{}_{}", point.base, operation, size_name(point.size));
  return fmt::format("{}_{}_{}", operation, size_name(point.size), point.clients);
}

// Both files exist in full before anything is measured: first writes, which allocate pages, have points of their own.
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

// Objects of removed files go in the background: waits until the space is free again.
Status settle(const std::string& directory, std::uint64_t free_before) {
  constexpr int kAttempts = 500;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto space = std::filesystem::space(directory);
    if (space.available + (8U << 20U) >= free_before) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {Code::timed_out, "the space of removed files does not come back"};
}

// Every client writes a new file of its own.
Result<double> fresh_throughput(BenchWorkers& workers, const std::string& directory, const std::string& how,
                                const Point& point) {
  const std::uint64_t free_before = std::filesystem::space(directory).available;
  const auto answers = workers.ask(fmt::format("fresh {} {}", how, point.size), point.clients);
  if (!answers.ok()) return answers.status();
  TUTTI_TRY(workers.ask("discard", point.clients).status());
  TUTTI_TRY(settle(directory, free_before));
  double slowest = 0;
  for (const auto& row : *answers) slowest = std::max(slowest, row[0]);
  return static_cast<double>(kFileSize / kClients * point.clients) / (1 << 20) / (slowest * 1e-9);
}

Result<double> throughput(BenchWorkers& workers, const std::string& how, const Point& point) {
  // One client gets its quarter of the file four times over, so that every measurement moves the same bytes.
  const std::size_t passes = 2 * kClients / point.clients;
  const auto answers = workers.ask(
      fmt::format("transfer {} {} {} {}", how, point.write ? "write" : "read", point.size, passes),
      point.clients);
  if (!answers.ok()) return answers.status();
  double slowest = 0;
  for (const auto& row : *answers) slowest = std::max(slowest, row[0]);
  const std::uint64_t part = kFileSize / kClients;
  const auto bytes = static_cast<double>(part * point.clients * passes);
  return bytes / (1 << 20) / (slowest * 1e-9);
}

void show_round(const BenchDataOptions& options, const char* what, int round) {
  if (options.json || ::isatty(STDERR_FILENO) != 1) return;
  fmt::print(stderr, "\r\033[K{}: round {} of {}", what, round, options.rounds);
  if (round == options.rounds) fmt::print(stderr, "\r\033[K");
}

// Round 0 warms up. The base and Tutti alternate at once, so that what disturbs one disturbs the other.
Status measure_points(BenchWorkers& workers, const std::string& directory, const BenchDataOptions& options,
                      std::vector<Point>& points) {
  const auto measure_one = [&](const Point& point, const std::string& how) {
    return point.fresh ? fresh_throughput(workers, directory, how, point) : throughput(workers, how, point);
  };
  for (int round = 0; round <= options.rounds; ++round) {
    for (Point& point : points) {
      const auto base = measure_one(point, point.base);
      if (!base.ok()) return base.status();
      const auto ours = measure_one(point, "tutti");
      if (!ours.ok()) return ours.status();
      if (round == 0) continue;
      point.raw.push_back(*base);
      point.tutti.push_back(*ours);
      point.ratio.push_back(*ours / *base);
    }
    show_round(options, points.front().base == "raw" ? "local path" : "TCP path", round);
  }
  return {};
}

// Time on a CPU of all daemons so far, each, in nanoseconds.
Result<std::vector<double>> daemon_cpu(const StateDirectory& state) {
  std::vector<double> times;
  for (const std::string& name : daemon_names(kServers)) {
    const auto pid = state.running(name);
    if (!pid) return Status(Code::unavailable, "daemon " + name + " has ended");
    std::ifstream file(fmt::format("/proc/{}/schedstat", *pid));
    double time = 0;
    if (!(file >> time)) return Status(Code::io_error, "read the CPU time of daemon " + name);
    times.push_back(time);
  }
  return times;
}

// Random 4 KiB reads by all clients, and then the daemons left alone.
Status measure_small(const StateDirectory& state, BenchWorkers& workers, Json& measured) {
  const auto before = daemon_cpu(state);
  if (!before.ok()) return before.status();
  constexpr std::size_t kReads = 20'000;
  const auto answers = workers.ask(fmt::format("random {}", kReads), kClients);
  if (!answers.ok()) return answers.status();
  const auto after = daemon_cpu(state);
  if (!after.ok()) return after.status();
  double slowest = 0;
  double cpu = 0;
  for (const auto& row : *answers) {
    slowest = std::max(slowest, row.at(0));
    cpu += row.at(1);
  }
  for (std::size_t i = 0; i < after->size(); ++i) cpu += (*after)[i] - (*before)[i];
  measured["random_read_4k_ops"] = static_cast<double>(kClients * kReads) / (slowest * 1e-9);
  measured["cpu_us_per_op"] = cpu / 1e3 / static_cast<double>(kClients * kReads);

  constexpr double kIdleSeconds = 3;
  std::this_thread::sleep_for(std::chrono::duration<double>(kIdleSeconds));
  const auto later = daemon_cpu(state);
  if (!later.ok()) return later.status();
  double busiest = 0;
  for (std::size_t i = 0; i < later->size(); ++i) busiest = std::max(busiest, (*later)[i] - (*after)[i]);
  measured["idle_cpu_percent"] = busiest / (kIdleSeconds * 1e9) * 100;
  return {};
}

// A cluster whose clients come by the local path, or by TCP over the loopback device.
Result<std::vector<Point>> measure(const Globals& globals, const BenchDataOptions& options, bool tcp,
                                   Json& measured) {
  auto directory =
      TemporaryDirectory::create("tutti-bench", Bytes(3 * kFileSize + (64ULL << 20U)), options.place);
  if (!directory.ok()) return directory.status();
  const TemporaryCluster cluster(*std::move(directory));
  UpOptions up;
  up.servers = kServers;
  up.loopback_tcp = tcp;
  up.protect = options.protect;
  up.checksums = options.checksums;
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
      if (tcp && (size != (1U << 20U) || clients != kClients)) continue;
      for (const bool write : {true, false}) {
        points.push_back(Point{tcp ? "tcp" : "raw", write, false, size, clients, {}, {}, {}});
        if (tcp) points.push_back(Point{"tcp_file", write, false, size, clients, {}, {}, {}});
      }
    }
  }
  if (!tcp) {
    for (const std::uint64_t size : {64ULL << 10U, 1ULL << 20U})
      points.push_back(Point{"raw", true, true, size, kClients, {}, {}, {}});
  }
  std::erase_if(points, [&](const Point& point) { return !point_name(point).starts_with(options.only); });
  if (points.empty()) return points;
  TUTTI_TRY(measure_points(*workers, cluster.state().path(), options, points));
  if (!tcp && options.only.empty()) TUTTI_TRY(measure_small(cluster.state(), *workers, measured));
  return points;
}

int run_bench_data(const Globals& globals, const BenchDataOptions& options) {
  Json measured = Json::object();
  Json rows = Json::array();
  Table table({"operation", "beside", ">transfer", ">clients", ">base MiB/s", ">Tutti MiB/s", ">ratio"});
  for (const bool tcp : {false, true}) {
    const auto points = measure(globals, options, tcp, measured);
    if (!points.ok()) return report("bench data", points.status());
    for (const Point& point : *points) {
      const std::string operation = operation_name(point);
      measured[point_name(point) + "_ratio"] = median(point.ratio);
      measured[point_name(point) + "_mib_s"] = median(point.tutti);
      rows.push_back({{"operation", operation},
                      {"base", point.base},
                      {"transfer_bytes", point.size},
                      {"clients", point.clients},
                      {"base_mib_s", point.raw},
                      {"tutti_mib_s", point.tutti},
                      {"ratio", point.ratio}});
      table.add({operation, point.base == "raw" ? "raw file" : point.base == "tcp" ? "bare TCP" : "bare TCP, a file", to_string(Bytes(point.size)),
                 std::to_string(point.clients), fmt::format("{:.0f}", median(point.raw)),
                 fmt::format("{:.0f}", median(point.tutti)), fmt::format("{:.2f}", median(point.ratio))});
    }
  }
  if (options.json) {
    return print_json({{"benchmark", "data"},
                       {"servers", kServers},
                       {"rounds", options.rounds},
                       {"measured", measured},
                       {"rows", rows}});
  }
  fmt::print(
      "Rewriting and reading a file of {} on {} data servers of this machine, and writing new ones (fresh); "
      "medians "
      "of {} rounds.\n\n{}\n",
      to_string(Bytes(kFileSize)), kServers, options.rounds, table.text());
  if (!options.only.empty()) return kSuccess;
  fmt::print(
      "{} clients, random 4 KiB reads: {:.0f} per second, {:.1f} us of CPU each (clients and servers).\n"
      "The busiest idle daemon used {:.3f} % of a CPU.\n",
      kClients, measured["random_read_4k_ops"].get<double>(), measured["cpu_us_per_op"].get<double>(),
      measured["idle_cpu_percent"].get<double>());
  return kSuccess;
}

}  // namespace

void add_bench_data(Command& bench) {
  auto options = std::make_shared<BenchDataOptions>();
  Command data =
      bench.add("data", "Throughput of the data path beside raw pread and pwrite", "tutti bench data --json");
  data.option("--rounds", options->rounds, "Rounds to take the median of").range(1, 1000);
  data.option("--only", options->only, "Only what begins with this: write_64k, fresh_write, tcp_read, ...");
  data.option("--protect", options->protect, "Frames by TCP: none, authenticate, encrypt")
      .one_of({kProtectionNames.begin(), kProtectionNames.end()})
      .show_default();
  data.option("--checksums", options->checksums, "Of the stored bytes: auto (on a disk), on, off")
      .one_of(kinds_of_checksums())
      .show_default();
  data.option("--place", options->place,
              "Directory, on the file system to measure (/dev/shm if it has room)");
  data.flag("--json", options->json, "Print JSON");
  data.action([&globals = bench.globals(), options] { return run_bench_data(globals, *options); });
}

}  // namespace tutti::cli
