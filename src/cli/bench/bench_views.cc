// tutti bench views: the strided pattern of BTIO through MPI, by views, by lists and by two-phase I/O.
//
// One phase of class C, 170 MB, by 9 ranks: runs of 2,160 bytes. All ways take turns in one job, so that whatever else
// goes on on the machine meets each of them; ratios are those of one turn, and the median of all turns counts. Beside the
// time, the processor time that the data servers took.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "cli/bench/bench_worker.h"
#include "cli/child.h"
#include "cli/client.h"
#include "cli/cluster/temporary_cluster.h"
#include "cli/mpi_program.h"
#include "cli/output.h"

namespace tutti::cli {
namespace {

constexpr std::uint32_t kServers = 4;
constexpr std::uint32_t kRanks = 9;
constexpr Bytes kRoom = 2_GiB;

struct BenchViewsOptions {
  int rounds = 9;
  std::string library;
  std::string only;
  bool tcp = false;
  bool json = false;
};

// Of each turn, by way and operation: "view_write".
struct Turns {
  std::vector<double> seconds, processor;
};
using Rows = std::map<std::string, Turns>;

Result<Rows> run_job(const StateDirectory& state, const MpiProgram& program, const BenchViewsOptions& options,
                     double& bytes) {
  std::string processes;
  for (std::uint32_t i = 0; i < kServers; ++i) {
    const auto process = state.running(fmt::format("data.{}", i));
    if (!process) return Status(Code::internal, fmt::format("data server {} does not run", i));
    processes += fmt::format("{}{}", i == 0 ? "" : ",", *process);
  }
  std::vector<std::string> words{"tutti", "--dir", state.path(), "run", "--"};
  const auto launch = launch_words(program, kRanks, state.path());
  words.insert(words.end(), launch.begin(), launch.end());
  words.insert(words.end(),
               {"views", "tutti:/btio", std::to_string(options.rounds), processes, options.only});
  const auto child = Child::start(words, kLauncherGrace);
  if (!child.ok()) return child.status();
  Rows rows;
  for (;;) {
    const auto line = (*child)->read_line(-1);
    if (line.code() == Code::unavailable) break;
    if (!line.ok()) return line.status();
    std::istringstream text(*line);
    std::string name;
    double seconds = 0;
    double processor = 0;
    if (!(text >> name >> seconds >> bytes >> processor)) continue;
    rows[name].seconds.push_back(seconds);
    rows[name].processor.push_back(processor);
  }
  const Status ended = (*child)->wait();
  if (!ended.ok()) return ended.with_context("the MPI program");
  if (rows.empty() && !options.only.empty()) {
    return Status(Code::invalid,
                  fmt::format("no way and operation begins with '{}': there are view, list and "
                              "two_phase_3_4 to two_phase_9_16, each with _write and _read",
                              options.only));
  }
  if (rows.empty()) return Status(Code::internal, "the MPI program measured nothing");
  return rows;
}

// The median over the turns of a / b.
double ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) ratios.push_back(a[i] / b[i]);
  return median(ratios);
}

Json measure(const Rows& rows) {
  Json measured = Json::object();
  for (const std::string operation : {"write", "read"}) {
    const Turns& view = rows.at("view_" + operation);
    const Turns& list = rows.at("list_" + operation);
    double worst = 0;
    for (const auto& [name, other] : rows) {
      if (!name.ends_with("_" + operation) || name.starts_with("view")) continue;
      worst = std::max(worst, ratio(view.seconds, other.seconds));
    }
    measured[operation + "_view_over_best_time"] = worst;
    measured[operation + "_view_over_list_time"] = ratio(view.seconds, list.seconds);
    measured[operation + "_view_over_list_server_cpu"] = ratio(view.processor, list.processor);
  }
  const auto both = [&](const std::string& way) {
    std::vector<double> sums;
    const Turns& writes = rows.at(way + "_write");
    const Turns& reads = rows.at(way + "_read");
    for (std::size_t i = 0; i < std::min(writes.processor.size(), reads.processor.size()); ++i)
      sums.push_back(writes.processor[i] + reads.processor[i]);
    return sums;
  };
  measured["view_over_list_server_cpu"] = ratio(both("view"), both("list"));
  return measured;
}

int run_bench_views(const Globals& globals, const BenchViewsOptions& options) {
  const auto program = find_mpi_program(options.library);
  if (!program.ok()) return report("bench views", program.status());
  auto directory = TemporaryDirectory::create("tutti-bench", kRoom);
  if (!directory.ok()) return report("bench views", directory.status());
  const TemporaryCluster cluster(*std::move(directory));
  UpOptions up;
  up.servers = kServers;
  up.loopback_tcp = options.tcp;
  if (const auto config = bring_up(globals, cluster.state(), up); !config.ok())
    return report("bench views", config.status());
  double bytes = 0;
  const auto rows = run_job(cluster.state(), *program, options, bytes);
  if (!rows.ok()) return report("bench views", rows.status());
  const Json measured = options.only.empty() ? measure(*rows) : Json::object();
  Json details = Json::array();
  Table table({"way and operation", ">MiB/s", ">server CPU s/GB"});
  for (const auto& [name, turns] : *rows) {
    const double speed = bytes / (1 << 20) / median(turns.seconds);
    const double processor = median(turns.processor) / (bytes / 1e9);
    details.push_back({{"operation", name},
                       {"mib_s", speed},
                       {"server_cpu_s_per_gb", processor},
                       {"seconds", turns.seconds},
                       {"server_cpu_s", turns.processor}});
    table.add({name, fmt::format("{:.0f}", speed), fmt::format("{:.3f}", processor)});
  }
  if (options.json) {
    return print_json({{"benchmark", "views"},
                       {"library", program->library},
                       {"servers", kServers},
                       {"ranks", kRanks},
                       {"transport", options.tcp ? "tcp" : "local"},
                       {"rounds", options.rounds},
                       {"measured", measured},
                       {"rows", details}});
  }
  fmt::print(
      "One phase of BTIO, class C, by {} ranks of {} on {} data servers of this machine; medians of {} "
      "turns.\n"
      "two_phase_N_M: N aggregators, buffers of M MiB.\n\n{}\n{}\n",
      kRanks, program->library, kServers, options.rounds, table.text(), measured.dump(2));
  return kSuccess;
}

}  // namespace

void add_bench_views(Command& bench) {
  auto options = std::make_shared<BenchViewsOptions>();
  Command views = bench.add("views", "The pattern of BTIO by views, lists and two-phase I/O, through MPI",
                            "tutti bench views --json");
  views.option("--rounds", options->rounds, "Turns of each way to take the median of").range(1, 1000);
  views.option("--library", options->library, "openmpi or mpich; Open MPI if both are there");
  views.option("--only", options->only,
               "Only ways and operations whose name begins so: view_write; no ratios then");
  views.flag("--tcp", options->tcp, "By TCP over the loopback device, as if clients were on other hosts");
  views.flag("--json", options->json, "Print JSON");
  views.action([&globals = bench.globals(), options] { return run_bench_views(globals, *options); });
}

}  // namespace tutti::cli
