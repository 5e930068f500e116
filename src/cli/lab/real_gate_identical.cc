// gate-identical in reality: four MPI jobs of this host that checkpoint with plain MPI-IO, and with POSIX calls, to a directory whose
// device is the modelled disk in real time, without and with the lock; the gate knows the directory as a path only. Then to the
// machine's own disk. Beside it the simulator's figure for the same mix.
#include <sys/stat.h>

#include <csignal>
#include <numeric>
#include <sstream>

#include "cli/child.h"
#include "cli/gate/temporary_gate.h"
#include "cli/lab/real_run.h"
#include "cli/mpi_program.h"
#include "cli/output.h"
#include "env/real/loop/loop.h"
#include "lab/experiments/gate/foreign.h"
#include "lab/experiments/window/testbed.h"

namespace tutti::cli {
namespace {

using namespace gatelab;

constexpr Nanos kPatience = 90_s;
constexpr Nanos kLead = 300_ms;  // until the jobs begin: the word has to reach every rank
constexpr std::uint32_t kRanks = 2;
constexpr std::uint64_t kSimulated = 20;  // seeds

struct Kind {
  const char* name;
  std::uint32_t ranks;
};
constexpr Kind kMpi = {"mpi", kRanks};  // one file, written by all ranks
constexpr Kind kPosix = {"posix", 1};   // a file of each process

// `tutti lab mount` in a process of its own.
struct Mounted {
  std::unique_ptr<TemporaryDirectory> directory;
  std::unique_ptr<Child> child;
  static Result<Mounted> make(int interrupt) {
    auto directory = TemporaryDirectory::create("tutti-lab", kForeignCheckpoint * (2 * kForeignJobs));
    if (!directory.ok()) return directory.status();
    Mounted mounted{*std::move(directory), nullptr};
    const std::string place = mounted.path();
    if (::mkdir(place.c_str(), 0700) != 0) return Status::from_errno(errno, "make " + place);
    auto child = Child::start(
        {"tutti", "lab", "mount", place, "--memory", fmt::format("{}MiB", kForeignMemory / 1_MiB), "--json"},
        5_s);
    if (!child.ok()) return child.status();
    const auto line = (*child)->read_line(interrupt, kPatience);
    if (!line.ok()) return line.status().with_context("mount the modelled disk (FUSE)");
    mounted.child = *std::move(child);
    return mounted;
  }
  [[nodiscard]] std::string path() const { return directory->path() + "/disk"; }
};

// Seconds of I/O of each job, of all its checkpoints.
Result<std::vector<double>> compete(const TemporaryGate& gate, const MpiProgram& program, const Kind& kind,
                                    bool lock, const std::string& directory, int interrupt) {
  std::vector<std::unique_ptr<Child>> jobs;
  for (std::uint32_t i = 0; i < kForeignJobs; ++i) {
    std::vector<std::string> words{"tutti", "--dir", gate.state().path(), "run", "--gate", "lock"};
    // With turns that the program would have to ask for itself there are none; all else is the same.
    if (!lock) words.insert(words.end(), {"--gate-scope", "manual"});
    if (kind.name == kPosix.name) words.insert(words.end(), {"--gate-dir", directory});
    words.emplace_back("--");
    const auto launch = launch_words(program, kind.ranks, gate.state().path());
    words.insert(words.end(), launch.begin(), launch.end());
    words.insert(words.end(), {"checkpoints", kind.name, fmt::format("{}/job-{}", directory, i + 1),
                               std::to_string(kForeignCheckpoints),
                               std::to_string((kForeignCheckpoint / kind.ranks).count()),
                               std::to_string(kForeignCompute.millis())});
    auto child = Child::start(words, kLauncherGrace);
    if (!child.ok()) return child.status();
    jobs.push_back(*std::move(child));
  }
  for (const auto& each : jobs) {
    const auto ready = each->read_line(interrupt, kPatience);
    if (!ready.ok()) return ready.status().with_context("start the jobs");
  }
  Loop loop;
  const std::string begin = fmt::format("{}\n", (loop.clock().now() + kLead).count());
  for (const auto& each : jobs)
    TUTTI_TRY(write_all(each->input(), std::as_bytes(std::span(begin)), "the start"));
  std::vector<double> seconds;
  for (const auto& each : jobs) {
    const auto line = each->read_line(interrupt, kPatience);
    if (!line.ok()) return line.status().with_context("a job");
    TUTTI_TRY(each->wait(kPatience));
    std::istringstream words(*line);
    double all = 0;
    std::uint32_t count = 0;
    for (double one = 0; words >> one; ++count) all += one;
    if (count != kForeignCheckpoints) return Status(Code::malformed, "a job gave no result: " + *line);
    seconds.push_back(all);
  }
  return seconds;
}

// What the lock saves of the time without it.
Result<double> measure(Report& report, const TemporaryGate& gate, const MpiProgram& program, const Kind& kind,
                       const std::string& directory, const std::string& where, int interrupt) {
  double io[2] = {};
  for (const bool lock : {false, true}) {
    const auto seconds = compete(gate, program, kind, lock, directory, interrupt);
    if (!seconds.ok()) return seconds.status().with_context(fmt::format("{} on {}", kind.name, where));
    io[lock ? 1 : 0] = std::accumulate(seconds->begin(), seconds->end(), 0.0) / kForeignJobs;
    report.rows.push_back({{"jobs", kind.name},
                           {"directory", where},
                           {"column", lock ? "lock" : "nothing"},
                           {"io_per_job", rounded(io[lock ? 1 : 0])},
                           {"each", *seconds}});
  }
  return reduction(io[0], io[1]);
}

// The same mix in the simulator.
double simulate(Report& report) {
  const StorageMaker storage = foreign_storage();
  double alone = 0;
  for (std::uint32_t writers = 1; writers <= kForeignJobs; ++writers) {
    const double rate = measure_efficiency(storage, writers, kForeignCheckpoint).rate;
    if (writers == 1) alone = rate;
    report.rows.push_back({{"simulated_writers", writers}, {"eta", rounded(rate / alone)}});
  }
  double io[2] = {};
  for (const bool lock : {false, true}) {
    for (std::uint64_t seed = 1; seed <= kSimulated; ++seed) {
      RunOptions one;
      one.seed = seed;
      one.method = lock ? Method::lock : Method::nothing;
      one.jobs = foreign_jobs(seed, 50_ms);
      one.storage = storage;
      io[lock ? 1 : 0] += run_mix(one).mean_io() / kSimulated;
    }
    report.rows.push_back({{"jobs", "simulated"},
                           {"directory", "modelled disk"},
                           {"column", lock ? "lock" : "nothing"},
                           {"io_per_job", rounded(io[lock ? 1 : 0])}});
  }
  return reduction(io[0], io[1]);
}

Result<Report> run(const Globals& /*globals*/) {
  const auto program = find_mpi_program();
  if (!program.ok()) return program.status();
  std::signal(SIGPIPE, SIG_IGN);
  const auto interrupt = catch_interrupts();
  if (!interrupt.ok()) return interrupt.status();
  const auto gate = TemporaryGate::start();
  if (!gate.ok()) return gate.status();
  Report report;
  report.settings = fmt::format(
      "real: 4 jobs of {} ({} ranks with MPI-IO, 1 with POSIX calls), 3 checkpoints of 48 MB after 2.5 s of "
      "computing each; a "
      "mounted directory on the modelled disk in real time, then this machine's own disk; the gate's own "
      "daemon",
      program->library, kRanks);
  report.figure("simulated_lock_reduction", rounded(simulate(report)));
  {
    const auto mounted = Mounted::make(interrupt->get());
    if (!mounted.ok()) return mounted.status();
    for (const Kind& kind : {kMpi, kPosix}) {
      const auto saved =
          measure(report, **gate, *program, kind, mounted->path(), "modelled disk", interrupt->get());
      if (!saved.ok()) return saved.status();
      report.figure(fmt::format("real_lock_reduction_{}", kind.name), rounded(*saved));
    }
  }
  auto own = TemporaryDirectory::create("tutti-lab", kForeignCheckpoint * (2 * kForeignJobs), "/tmp");
  if (!own.ok()) return own.status();
  const auto saved = measure(report, **gate, *program, kPosix, (*own)->path(), "own disk", interrupt->get());
  if (!saved.ok()) return saved.status();
  report.figure("own_disk_lock_reduction", rounded(*saved));
  report.notes.push_back(
      "On the own disk a close does not flush, so that most of a checkpoint is in memory when its turn ends: "
      "reported only.");
  return report;
}

}  // namespace

constinit const RealRun real_runs::gate_identical = {
    "gate-identical",
    "with MPI and POSIX jobs of this host on a mounted directory, the modelled disk in real time", run};

}  // namespace tutti::cli
