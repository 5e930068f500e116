// resonant-demo in reality: the paper's demonstration program with 4 MPI ranks on 4 data servers of this host, with the modelled
// disk in real time; a cluster in a temporary directory, started anew for each run, so that caches are cold.
#include <csignal>
#include <cstring>
#include <map>
#include <sstream>

#include "cli/child.h"
#include "cli/client.h"
#include "cli/cluster/local_cluster.h"
#include "cli/cluster/temporary_cluster.h"
#include "cli/lab/real_run.h"
#include "cli/mpi_program.h"
#include "cli/output.h"
#include "lab/experiments/window/testbed.h"

namespace tutti::cli {
namespace {

constexpr std::uint32_t kServers = 4;
constexpr std::uint32_t kRanks = 4;
constexpr Bytes kFile = 96_MiB;
constexpr std::uint32_t kRepeats = 3;
constexpr Nanos kPatience = 120_s;
constexpr const char* kPath = "/demo";

// Each word of the file is its own offset: a rank that gets others knows.
Task<Status> write_file(Client& client) {
  std::vector<std::byte> bytes((1_MiB).count());
  OpenOptions how;
  how.write = true;
  how.create = true;
  auto file = co_await client.files().open(kPath, how);
  if (!file.ok()) co_return file.status();
  for (Bytes at; at < kFile; at += 1_MiB) {
    for (std::size_t word = 0; word < bytes.size(); word += sizeof(std::uint64_t)) {
      const std::uint64_t offset = at.count() + word;
      std::memcpy(bytes.data() + word, &offset, sizeof(offset));
    }
    TUTTI_CO_TRY(co_await (*file)->write(at, bytes));
  }
  co_return co_await (*file)->close();
}

Status prepare(const Globals& globals, const StateDirectory& state) {
  UpOptions up;
  up.servers = kServers;
  const auto config = bring_up(globals, state, up);
  if (!config.ok()) return config.status();
  {
    auto client = Client::open(globals, config->config);
    if (!client.ok()) return client.status();
    TUTTI_TRY((*client)->run(write_file(**client)));
  }
  return bring_down(state).status();
}

// Megabytes per second of one run.
Result<double> run_once(const Globals& globals, const StateDirectory& state, const MpiProgram& program,
                        const std::string& policy, const std::string& plan, Bytes segment, int interrupt) {
  UpOptions up;
  up.policy = policy;
  up.device = "hdd";
  const auto config = bring_up(globals, state, up);
  if (!config.ok()) return config.status();
  std::vector<std::string> words{
      "tutti", "--dir", state.path(), "run", "--", "env", "TUTTI_HINTS=tutti_collective=" + plan};
  const auto launch = launch_words(program, kRanks, state.path());
  words.insert(words.end(), launch.begin(), launch.end());
  const std::uint64_t calls = kFile / (segment * 4 * kRanks);
  words.insert(words.end(), {"demo", std::string("tutti:") + kPath, std::to_string(calls),
                             std::to_string(segment.count())});
  double rate = 0;
  {
    auto child = Child::start(words, kLauncherGrace);
    if (!child.ok()) return child.status();
    const auto line = (*child)->read_line(interrupt, kPatience);
    if (!line.ok()) return line.status().with_context("the MPI program");
    TUTTI_TRY((*child)->wait(kPatience));
    std::istringstream text(*line);
    std::string name;
    double seconds = 0;
    double bytes = 0;
    if (!(text >> name >> seconds >> bytes) || name != "demo")
      return Status(Code::malformed, "the MPI program gave no result: " + *line);
    rate = bytes / seconds / 1e6;
  }
  TUTTI_TRY(bring_down(state).status());
  return rate;
}

Result<Report> run(const Globals& globals) {
  const auto program = find_mpi_program();
  if (!program.ok()) return program.status();
  std::signal(SIGPIPE, SIG_IGN);
  const auto interrupt = catch_interrupts();
  if (!interrupt.ok()) return interrupt.status();
  auto directory = TemporaryDirectory::create("tutti-lab", kFile + 128_MiB);
  if (!directory.ok()) return directory.status();
  const TemporaryCluster cluster(*std::move(directory));
  TUTTI_TRY(prepare(globals, cluster.state()));
  Report report;
  report.settings = fmt::format(
      "real: {} ranks of {} on {} data servers, modelled HDD in real time; four segments of each rank in a "
      "call, {}; the "
      "best of {} runs",
      kRanks, program->library, kServers, to_string(kFile), kRepeats);
  std::map<std::string, double> rates;
  for (const Bytes segment : {64_KiB, 256_KiB}) {
    for (const std::string policy : {"fcfs_serial", "fcfs"}) {
      for (const std::string plan : {"independent", "two_phase", "resonant", "auto"}) {
        double best = 0;
        for (std::uint32_t i = 0; i < kRepeats; ++i) {
          const auto rate =
              run_once(globals, cluster.state(), *program, policy, plan, segment, interrupt->get());
          if (!rate.ok()) return rate.status().with_context(plan);
          best = std::max(best, *rate);
        }
        rates[fmt::format("{} {} {}", segment / 1_KiB, policy, plan)] = best;
        report.rows.push_back({{"segment", to_string(segment)},
                               {"policy", policy},
                               {"plan", plan},
                               {"mb_per_second", rounded(best)}});
      }
    }
  }
  const auto ratio = [&](const char* of, const char* over) { return rounded(rates.at(of) / rates.at(over)); };
  report.figure("real_64k_over_two_phase", ratio("64 fcfs_serial resonant", "64 fcfs_serial two_phase"), {},
                ">= 1.5");
  report.figure("real_64k_over_two_phase_fcfs", ratio("64 fcfs resonant", "64 fcfs two_phase"));
  report.figure("real_256k_over_two_phase", ratio("256 fcfs_serial resonant", "256 fcfs_serial two_phase"));
  // The `auto` of before would have left both to the ranks themselves: the segments are not small.
  report.figure("real_auto_64k", ratio("64 fcfs auto", "64 fcfs independent"), {}, ">= 0.98");
  report.figure("real_auto_256k", ratio("256 fcfs auto", "256 fcfs independent"), {}, ">= 0.98");
  return report;
}

}  // namespace

constinit const RealRun real_runs::resonant_demo = {
    "resonant-demo", "with daemons and MPI ranks of this host, the modelled disk in real time", run};

}  // namespace tutti::cli
