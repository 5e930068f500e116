// tutti bench meta: how many files a second are made, asked for and removed, beside the local file system, as mdtest
// measures it: processes that share one directory, each asking for the files that its neighbour made.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "cli/bench/bench_worker.h"
#include "cli/client.h"
#include "cli/cluster/temporary_cluster.h"
#include "cli/output.h"

namespace tutti::cli {
namespace {

constexpr std::uint32_t kServers = 4;
constexpr std::size_t kClients = 4;
constexpr std::uint64_t kSmallFile = 4096;
constexpr std::array<const char*, 3> kOperations{"create", "stat", "unlink"};

struct BenchMetaOptions {
  int rounds = 5;
  std::uint64_t files = 3000;  // of each process
  bool json = false;
};

// One operation on files of one size.
struct Point {
  std::string operation;
  std::uint64_t size = 0;
  std::vector<double> local, tutti, ratio;  // per second, a round each
};

std::string point_name(const Point& point) { return point.operation + (point.size == 0 ? "" : "_4k"); }

Result<double> rate(BenchWorkers& workers, const std::string& how, const Point& point, std::uint64_t files) {
  const auto answers =
      workers.ask(fmt::format("names {} {} {} {}", how, point.operation, files, point.size), kClients);
  if (!answers.ok()) return answers.status();
  double slowest = 0;
  for (const auto& row : *answers) slowest = std::max(slowest, row[0]);
  return static_cast<double>(files * kClients) / (slowest * 1e-9);
}

// Round 0 warms up. A file lives through the three operations of a round, so they come in this order.
Status measure_points(BenchWorkers& workers, const BenchMetaOptions& options, std::vector<Point>& points) {
  for (int round = 0; round <= options.rounds; ++round) {
    for (auto group = points.begin(); group != points.end(); group += kOperations.size()) {
      for (const char* how : {"raw", "tutti"}) {
        for (auto point = group; point != group + kOperations.size(); ++point) {
          const auto measured = rate(workers, how, *point, options.files);
          if (!measured.ok()) return measured.status();
          if (round == 0) continue;
          (how == std::string("raw") ? point->local : point->tutti).push_back(*measured);
        }
      }
    }
  }
  for (Point& point : points) {
    for (std::size_t i = 0; i < point.tutti.size(); ++i)
      point.ratio.push_back(point.tutti[i] / point.local[i]);
  }
  return {};
}

Result<std::vector<Point>> measure(const Globals& globals, const BenchMetaOptions& options) {
  const Bytes space(options.files * kClients * 4 * kSmallFile + (64ULL << 20U));
  auto directory = TemporaryDirectory::create("tutti-bench", space);
  if (!directory.ok()) return directory.status();
  const TemporaryCluster cluster(*std::move(directory));
  UpOptions up;
  up.servers = kServers;
  const auto config = bring_up(globals, cluster.state(), up);
  if (!config.ok()) return config.status();
  auto client = Client::open(globals, config->config);
  if (!client.ok()) return client.status();
  const std::string raw = cluster.state().path() + "/raw";
  std::ofstream(raw).put('x');
  const std::string local = names_directory(raw);
  if (::mkdir(local.c_str(), 0700) != 0) return Status::from_errno(errno, "create directory " + local);
  FileSystem& files = (*client)->files();
  OpenOptions open;
  open.write = true;
  open.create = true;
  auto file = (*client)->run(files.open("/bench", open));
  if (!file.ok()) return file.status();
  TUTTI_TRY((*client)->run((*file)->close()));
  TUTTI_TRY((*client)->run(files.make_directory(names_directory("/bench"), 0700, {})));
  auto workers = BenchWorkers::start(cluster.state().path(), raw, "/bench", kClients, kClients);
  if (!workers.ok()) return workers.status();

  std::vector<Point> points;
  for (const std::uint64_t size : {std::uint64_t{0}, kSmallFile}) {
    for (const char* operation : kOperations) points.push_back(Point{operation, size, {}, {}, {}});
  }
  TUTTI_TRY(measure_points(*workers, options, points));
  return points;
}

int run_bench_meta(const Globals& globals, const BenchMetaOptions& options) {
  const auto points = measure(globals, options);
  if (!points.ok()) return report("bench meta", points.status());
  Json measured = Json::object();
  Json rows = Json::array();
  Table table({"operation", ">file", ">local per second", ">Tutti per second", ">ratio"});
  for (const Point& point : *points) {
    measured[point_name(point) + "_per_second"] = median(point.tutti);
    measured[point_name(point) + "_ratio"] = median(point.ratio);
    rows.push_back({{"operation", point.operation},
                    {"file_bytes", point.size},
                    {"clients", kClients},
                    {"local_per_second", point.local},
                    {"tutti_per_second", point.tutti},
                    {"ratio", point.ratio}});
    table.add({point.operation, point.size == 0 ? "empty" : to_string(Bytes(point.size)),
               fmt::format("{:.0f}", median(point.local)), fmt::format("{:.0f}", median(point.tutti)),
               fmt::format("{:.3f}", median(point.ratio))});
  }
  if (options.json) {
    return print_json({{"benchmark", "meta"},
                       {"servers", kServers},
                       {"rounds", options.rounds},
                       {"files_per_client", options.files},
                       {"measured", measured},
                       {"rows", rows}});
  }
  fmt::print(
      "{} processes make, ask for and remove {} files each in one directory, {} data servers; medians of {} "
      "rounds.\n\n{}",
      kClients, options.files, kServers, options.rounds, table.text());
  return kSuccess;
}

}  // namespace

void add_bench_meta(Command& bench) {
  auto options = std::make_shared<BenchMetaOptions>();
  Command meta = bench.add("meta", "Files made, asked for and removed a second, beside the local file system",
                           "tutti bench meta --json");
  meta.option("--rounds", options->rounds, "Rounds to take the median of").range(1, 1000);
  meta.option("--files", options->files, "Files of each process").range(1, 1'000'000);
  meta.flag("--json", options->json, "Print JSON");
  meta.action([&globals = bench.globals(), options] { return run_bench_meta(globals, *options); });
}

}  // namespace tutti::cli
