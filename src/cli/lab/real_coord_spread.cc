// coord-spread in reality: 4 applications of 4 MPI ranks on 4 data servers of this host, with the modelled disk in real time;
// a cluster in a temporary directory for each policy.
#include "cli/lab/real_run.h"

#include <csignal>
#include <memory>
#include <sstream>

#include "cli/child.h"
#include "cli/client.h"
#include "cli/cluster/local_cluster.h"
#include "cli/cluster/temporary_cluster.h"
#include "cli/mpi_program.h"
#include "cli/output.h"
#include "lab/experiments/window/testbed.h"

namespace tutti::cli {
namespace {

constexpr std::uint32_t kServers = 4;
constexpr std::uint32_t kApplications = 4;
constexpr std::uint32_t kRanks = 4;
constexpr std::uint32_t kRounds = 12;
constexpr Bytes kRequest = 1_MiB;
// A round is over well before the next: some 16 requests of 20 ms on each server.
constexpr Nanos kPeriod = 800_ms;
// Until the first round: the word has to reach every rank.
constexpr Nanos kLead = 500_ms;
// With ranks that say nothing. All rounds take a third of it.
constexpr Nanos kPatience = 30_s;

std::string path_of(std::uint32_t application) { return fmt::format("/application-{}", application); }

Task<Status> write_files(Client& client) {
  const std::vector<std::byte> bytes(kRequest.count() * kRanks);
  for (std::uint32_t application = 1; application <= kApplications; ++application) {
    OpenOptions options;
    options.write = true;
    options.create = true;
    auto file = co_await client.files().open(path_of(application), options);
    if (!file.ok()) co_return file.status();
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      TUTTI_CO_TRY(co_await (*file)->write(Bytes(bytes.size()) * round, bytes));
    }
    TUTTI_CO_TRY(co_await (*file)->close());
  }
  co_return Status();
}

// Applications, each under an mpirun of its own. When one fails, all end.
struct Applications {
  std::vector<std::unique_ptr<Child>> all;

  Applications() = default;
  Applications(const Applications&) = delete;
  Applications& operator=(const Applications&) = delete;
  ~Applications() {
    for (const auto& each : all) each->tell_to_end();
  }
};

// Starts them and waits until all their ranks are ready.
Status start_ranks(const MpiProgram& program, const std::string& directory, int interrupt,
                   Applications& applications) {
  for (std::uint32_t i = 1; i <= kApplications; ++i) {
    std::vector<std::string> words{"tutti",           "--dir", directory, "--application",
                                   std::to_string(i), "run",   "--"};
    const auto launch = launch_words(program, kRanks, directory);
    words.insert(words.end(), launch.begin(), launch.end());
    words.insert(words.end(), {"rounds", "tutti:" + path_of(i), std::to_string(kRounds),
                               std::to_string(kRequest.count())});
    auto application = Child::start(words, kLauncherGrace);
    if (!application.ok()) return application.status();
    applications.all.push_back(*std::move(application));
  }
  for (const auto& application : applications.all) {
    const auto ready = application->read_line(interrupt, kPatience);
    if (!ready.ok()) return ready.status().with_context("start the ranks with " + program.launcher);
  }
  return {};
}

// How long each round of the application took, until its last rank had its bytes.
Result<std::vector<double>> end_of_ranks(Child& application, int interrupt) {
  const auto line = application.read_line(interrupt, kPatience);
  if (!line.ok()) return line.status();
  TUTTI_TRY(application.wait(kPatience));
  std::istringstream words(*line);
  std::vector<double> times;
  for (double seconds = 0; words >> seconds;) times.push_back(seconds);
  if (times.size() != kRounds) return Status(Code::malformed, "an application gave no result: " + *line);
  return times;
}

// Mean over applications and rounds of the time until an application's last rank has its bytes.
Result<double> mean_completion(const Globals& globals, const MpiProgram& program, const StateDirectory& state,
                               const std::string& policy, int interrupt) {
  UpOptions up;
  up.policy = policy;
  up.device = "hdd";
  const auto config = bring_up(globals, state, up);
  if (!config.ok()) return config.status();
  Applications applications;
  TUTTI_TRY(start_ranks(program, state.path(), interrupt, applications));
  Executor executor;
  const RealClock clock(executor);
  const std::string start = fmt::format("{} {}\n", (clock.now() + kLead).count(), kPeriod.count());
  for (const auto& application : applications.all)
    TUTTI_TRY(write_all(application->input(), std::as_bytes(std::span(start)), "the start"));
  std::vector<double> all;
  for (const auto& application : applications.all) {
    const auto times = end_of_ranks(*application, interrupt);
    if (!times.ok()) return times.status();
    all.insert(all.end(), times->begin(), times->end());
  }
  TUTTI_TRY(bring_down(state).status());
  return mean(all);
}

Result<Report> run(const Globals& globals) {
  const auto program = find_mpi_program();
  if (!program.ok()) return program.status();
  std::signal(SIGPIPE, SIG_IGN);
  const auto interrupt = catch_interrupts();
  if (!interrupt.ok()) return interrupt.status();
  auto directory =
      TemporaryDirectory::create("tutti-lab", kRequest * kRanks * kRounds * kApplications + 128_MiB);
  if (!directory.ok()) return directory.status();
  const TemporaryCluster cluster(*std::move(directory));
  UpOptions up;
  up.servers = kServers;
  const auto config = bring_up(globals, cluster.state(), up);
  if (!config.ok()) return config.status();
  {
    auto client = Client::open(globals, config->config);
    if (!client.ok()) return client.status();
    TUTTI_TRY((*client)->run(write_files(**client)));
  }
  TUTTI_TRY(bring_down(cluster.state()).status());  // and with it every cache of the modelled disk
  Report report;
  report.settings = fmt::format(
      "real: {} applications of {} ranks of {} on {} data servers, modelled HDD in real time, {} rounds of "
      "one "
      "read of {} each",
      kApplications, kRanks, program->library, kServers, kRounds, to_string(kRequest));
  std::vector<double> completions;
  for (const std::string& policy : {std::string("fcfs"), fcfs_single(), default_window(Medium::hdd)}) {
    const auto completion = mean_completion(globals, *program, cluster.state(), policy, interrupt->get());
    if (!completion.ok()) return completion.status().with_context(policy);
    completions.push_back(*completion);
    report.rows.push_back({{"policy", policy}, {"completion", rounded(*completion)}});
  }
  report.figure("real_reduction", rounded(reduction(completions[0], completions[2])), {}, ">= 0.2");
  report.figure("real_reduction_one_by_one", rounded(reduction(completions[1], completions[2])), {},
                ">= 0.2");
  return report;
}

}  // namespace

constinit const RealRun real_runs::coord_spread = {
    "coord-spread", "with daemons and MPI ranks of this host, the modelled disk in real time", run};

}  // namespace tutti::cli
