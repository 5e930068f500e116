// tutti bench mpi: MPI-IO on Tutti beside the MPI library's own on a local file in the same directory.
//
// 4 ranks for large contiguous transfers, 9 for the strided pattern. Jobs on the local file, without Tutti's library,
// and jobs on Tutti alternate: in one job, the local side would pay for the sleeping and waking of processes that Tutti
// brings, which on a crowded machine costs those that poll a third of their speed. Files are rewritten, but for the
// pattern "fresh", which writes new ones; "open" times opening alone.
#include <fmt/format.h>

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
constexpr Bytes kRoom = 2_GiB;

constexpr int kRepeats = 5;  // of each operation in a job

struct BenchMpiOptions {
  int rounds = 5;
  std::string library;
  bool json = false;
};

struct Run {
  const char* pattern;
  std::uint32_t ranks;
};
constexpr Run kRuns[] = {{"contiguous", 4}, {"strided", 9}, {"fresh", 9}, {"open", 9}};

struct Row {
  std::uint32_t ranks = 0;
  std::vector<double> local, tutti, ratio;  // MiB/s, a pair of jobs each; of opening: milliseconds
};

// Seconds and bytes of each repetition of an operation.
using Times = std::map<std::string, std::vector<std::pair<double, double>>>;

Result<Times> run_job(const std::string& directory, const MpiProgram& program, const Run& run, bool tutti) {
  std::vector<std::string> words{"tutti", "--dir", directory, "run", "--"};
  if (!tutti) words.insert(words.end(), {"env", "--unset=LD_PRELOAD"});
  const auto launch = launch_words(program, run.ranks, directory);
  words.insert(words.end(), launch.begin(), launch.end());
  const std::string file =
      tutti ? fmt::format("tutti:/{}", run.pattern) : fmt::format("{}/local.{}", directory, run.pattern);
  words.insert(words.end(), {run.pattern, file, std::to_string(kRepeats)});
  const auto child = Child::start(words, kLauncherGrace);
  if (!child.ok()) return child.status();
  Times times;
  for (;;) {
    const auto line = (*child)->read_line(-1);
    if (line.code() == Code::unavailable) break;
    if (!line.ok()) return line.status();
    std::istringstream text(*line);
    std::string name;
    double seconds = 0;
    double bytes = 0;
    if (text >> name >> seconds >> bytes && seconds > 0) times[name].emplace_back(seconds, bytes);
  }
  const Status ended = (*child)->wait();
  if (!ended.ok())
    return ended.with_context(fmt::format("{} -n {} {}", program.launcher, run.ranks, program.path));
  return times;
}

bool is_opening(const std::string& operation) { return operation.starts_with("open_"); }

// MiB/s, or of opening milliseconds.
double median_of(const std::string& operation, const std::vector<std::pair<double, double>>& times) {
  std::vector<double> values;
  for (const auto& [seconds, bytes] : times)
    values.push_back(is_opening(operation) ? seconds * 1e3 : bytes / (1 << 20) / seconds);
  return median(values);
}

Status measure(const std::string& directory, const BenchMpiOptions& options, const MpiProgram& program,
               const Run& run, std::map<std::string, Row>& rows) {
  for (int round = 0; round < options.rounds; ++round) {
    const bool first = round % 2 == 0;  // whoever begins changes
    const auto one = run_job(directory, program, run, first);
    if (!one.ok()) return one.status();
    const auto other = run_job(directory, program, run, !first);
    if (!other.ok()) return other.status();
    const Times& ours = first ? *one : *other;
    const Times& theirs = first ? *other : *one;
    for (const auto& [name, times] : ours) {
      const auto beside = theirs.find(name);
      if (beside == theirs.end()) return {Code::internal, "the jobs measured different things"};
      Row& row = rows[name];
      row.ranks = run.ranks;
      row.tutti.push_back(median_of(name, times));
      row.local.push_back(median_of(name, beside->second));
      row.ratio.push_back(row.tutti.back() / row.local.back());
    }
  }
  return {};
}

int run_bench_mpi(const Globals& globals, const BenchMpiOptions& options) {
  const auto program = find_mpi_program(options.library);
  if (!program.ok()) return report("bench mpi", program.status());
  auto directory = TemporaryDirectory::create("tutti-bench", kRoom);
  if (!directory.ok()) return report("bench mpi", directory.status());
  const TemporaryCluster cluster(*std::move(directory));
  UpOptions up;
  up.servers = kServers;
  if (const auto config = bring_up(globals, cluster.state(), up); !config.ok())
    return report("bench mpi", config.status());
  std::map<std::string, Row> rows;
  for (const Run& run : kRuns) {
    const Status status = measure(cluster.state().path(), options, *program, run, rows);
    if (!status.ok()) return report("bench mpi", status);
  }

  Json measured = Json::object();
  Json details = Json::array();
  Table table({"operation", ">ranks", ">local MiB/s", ">Tutti MiB/s", ">ratio"});
  for (const auto& [name, row] : rows) {
    if (is_opening(name)) {
      measured[name + "_ms"] = median(row.tutti);
    } else {
      measured[name + "_ratio"] = median(row.ratio);
    }
    details.push_back({{"operation", name},
                       {"ranks", row.ranks},
                       {"local_mib_s", row.local},
                       {"tutti_mib_s", row.tutti},
                       {"ratio", row.ratio}});
    table.add({name, std::to_string(row.ranks), fmt::format("{:.0f}", median(row.local)),
               fmt::format("{:.0f}", median(row.tutti)), fmt::format("{:.2f}", median(row.ratio))});
  }
  if (options.json) {
    return print_json({{"benchmark", "mpi"},
                       {"library", program->library},
                       {"servers", kServers},
                       {"rounds", options.rounds},
                       {"measured", measured},
                       {"rows", details}});
  }
  fmt::print(
      "MPI-IO of {} on a local file and on Tutti with {} data servers of this machine; medians of {} "
      "pairs of jobs.\n"
      "Contiguous: calls of 8 MiB; strided: blocks of 3,240 bytes of all ranks in turn; fresh: into new "
      "files;\n"
      "open: milliseconds, of all ranks together.\n\n{}",
      program->library, kServers, options.rounds, table.text());
  return kSuccess;
}

}  // namespace

void add_bench_mpi(Command& bench) {
  auto options = std::make_shared<BenchMpiOptions>();
  Command mpi =
      bench.add("mpi", "MPI-IO beside the MPI library's own on a local file", "tutti bench mpi --json");
  mpi.option("--rounds", options->rounds, "Pairs of jobs to take the median of").range(1, 1000);
  mpi.option("--library", options->library, "openmpi or mpich; Open MPI if both are there");
  mpi.flag("--json", options->json, "Print JSON");
  mpi.action([&globals = bench.globals(), options] { return run_bench_mpi(globals, *options); });
}

}  // namespace tutti::cli
