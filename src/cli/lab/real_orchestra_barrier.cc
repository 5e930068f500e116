// orchestra-barrier in reality: two instances of mpi-io-test, five MPI ranks each, read files of their own from four data servers of this
// host, whose disks are those of the simulated testbed in real time: the same disk, scheduler, placement and page cache. Under the
// default fcfs, under the default orchestrated, and under slices as the paper has them; in the middle of the last the coordinator is
// killed, and later started again. Beside it the simulator's figures for the same programs on the same servers.
//
// The files are sparse: what they hold is read, but lies nowhere.
#include <csignal>
#include <numeric>
#include <sstream>

#include "cli/child.h"
#include "cli/client.h"
#include "cli/cluster/daemon.h"
#include "cli/cluster/local_cluster.h"
#include "cli/cluster/temporary_cluster.h"
#include "cli/lab/real_run.h"
#include "cli/mpi_program.h"
#include "cli/output.h"
#include "lab/experiments/orchestra/testbed.h"
#include "lab/report/numbers.h"
#include "lab/sim/sim_cluster.h"

namespace tutti::cli {
namespace {

constexpr std::uint32_t kDataServers = 4;
constexpr std::size_t kPrograms = 2;
constexpr std::uint32_t kRanks = orchestra::kProcesses;
// 1.5 GB on each server, as much as a sixth of the paper's files.
constexpr Bytes kSparse = Bytes(6'000'000'000);
constexpr Bytes kRequest = 64_KiB;
constexpr Nanos kLead = 500_ms;  // until the programs begin: the word has to reach every rank
constexpr Nanos kPatience = 60_s;
constexpr Nanos kStep = 100_ms;  // as the program has it
constexpr Nanos kWarm = 3_s;
constexpr Nanos kLength = 9_s;
// With the coordinator killed and started again, from the programs' start.
constexpr Nanos kKill = 8_s;
constexpr Nanos kRestart = 13_s;
constexpr Nanos kAll = 19_s;
constexpr Nanos kWindow = 500_ms;

std::string path_of(std::size_t number) { return fmt::format("/program-{}", number); }

Task<Status> make_files(Client& client) {
  // The last stripe on each server: every object has its whole length.
  const Bytes tail = 64_KiB * kDataServers;
  const std::vector<std::byte> bytes(tail.count());
  for (std::size_t number = 1; number <= kPrograms; ++number) {
    OpenOptions how;
    how.write = true;
    how.create = true;
    auto file = co_await client.files().open(path_of(number), how);
    if (!file.ok()) co_return file.status();
    TUTTI_CO_TRY(co_await (*file)->write(kSparse - tail, bytes));
    TUTTI_CO_TRY(co_await (*file)->close());
  }
  co_return Status();
}

Status prepare(const Globals& globals, const StateDirectory& state) {
  UpOptions up;
  up.servers = kDataServers;
  up.coordinator = "alone";
  up.checksums = "off";
  const auto config = bring_up(globals, state, up);
  if (!config.ok()) return config.status();
  {
    auto client = Client::open(globals, config->config);
    if (!client.ok()) return client.status();
    TUTTI_TRY((*client)->run(make_files(**client)));
  }
  return bring_down(state).status();
}

// Of both programs, step by step.
struct Course {
  std::vector<double> bytes;
  std::vector<double> longest;  // milliseconds, of a read that ended in the step

  // Megabytes per second.
  [[nodiscard]] double rate(Nanos from, Nanos to) const {
    const auto first = static_cast<std::size_t>(from / kStep);
    const auto last = std::min(static_cast<std::size_t>(to / kStep), bytes.size());
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += bytes[i];
    return sum / (to - from).seconds() / 1e6;
  }
  [[nodiscard]] double wait(Nanos from, Nanos to) const {
    double most = 0;
    for (auto i = static_cast<std::size_t>(from / kStep); i < static_cast<std::size_t>(to / kStep); ++i)
      most = std::max(most, longest.at(i));
    return most;
  }
};

Result<std::vector<double>> read_numbers(Child& child, int interrupt) {
  const auto line = child.read_line(interrupt, kPatience);
  if (!line.ok()) return line.status().with_context("an MPI program");
  std::istringstream words(*line);
  std::vector<double> numbers;
  for (double each = 0; words >> each;) numbers.push_back(each);
  return numbers;
}

void pause_until(Client& client, Nanos moment) {
  client
      .run([](Clock& clock, Nanos until) -> Task<Status> {
        co_await clock.sleep_until(until);
        co_return Status();
      }(client.loop().clock(), moment))
      .ignore();
}

// kill -9, and later a new one.
Status break_coordinator(const StateDirectory& state, Client& client, Nanos start) {
  pause_until(client, start + kKill);
  const auto pid = state.running("coordinator");
  if (!pid) return {Code::unavailable, "the coordinator does not run"};
  ::kill(*pid, SIGKILL);
  pause_until(client, start + kRestart);
  const auto started = start_daemon(state, "coordinator");
  if (!started.ok()) return started.status();
  return wait_until_ready(state, *started, kPatience);
}

Result<Course> compete(const Globals& globals, const StateDirectory& state, const MpiProgram& program,
                       const std::string& policy, Nanos length, bool kills, int interrupt) {
  UpOptions up;
  up.policy = policy;
  up.device = "hdd-shared";
  const auto config = bring_up(globals, state, up);
  if (!config.ok()) return config.status();
  Course course;
  {
    auto client = Client::open(globals, config->config);
    if (!client.ok()) return client.status();
    std::vector<std::unique_ptr<Child>> programs;
    for (std::size_t number = 1; number <= kPrograms; ++number) {
      std::vector<std::string> words{"tutti", "--dir", state.path(), "--application", std::to_string(number),
                                     "run",   "--"};
      const auto launch = launch_words(program, kRanks, state.path());
      words.insert(words.end(), launch.begin(), launch.end());
      words.insert(words.end(), {"forward", "tutti:" + path_of(number), std::to_string(length.millis()),
                                 std::to_string(kRequest.count())});
      auto child = Child::start(words, kLauncherGrace);
      if (!child.ok()) return child.status();
      programs.push_back(*std::move(child));
    }
    for (const auto& each : programs) {
      const auto ready = each->read_line(interrupt, kPatience);
      if (!ready.ok()) return ready.status().with_context("start the ranks with " + program.launcher);
    }
    const Nanos start = (*client)->loop().clock().now() + kLead;
    const std::string begin = fmt::format("{}\n", start.count());
    for (const auto& each : programs)
      TUTTI_TRY(write_all(each->input(), std::as_bytes(std::span(begin)), "the start"));
    if (kills) TUTTI_TRY(break_coordinator(state, **client, start));
    for (const auto& each : programs) {
      const auto bytes = read_numbers(*each, interrupt);
      if (!bytes.ok()) return bytes.status();
      const auto longest = read_numbers(*each, interrupt);
      if (!longest.ok()) return longest.status();
      TUTTI_TRY(each->wait(kPatience));
      course.bytes.resize(bytes->size());
      course.longest.resize(bytes->size());
      if (bytes->empty() || longest->size() != bytes->size())
        return Status(Code::malformed, "an MPI program gave no result");
      for (std::size_t i = 0; i < bytes->size(); ++i) {
        course.bytes[i] += (*bytes)[i];
        course.longest[i] = std::max(course.longest[i], (*longest)[i]);
      }
    }
  }
  TUTTI_TRY(bring_down(state).status());
  return course;
}

// Megabytes per second of the same in the simulator.
Result<double> simulate(const std::string& policy) {
  constexpr std::uint64_t kSeeds = 3;
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    orchestra::RunSpec spec;
    orchestra::ProgramSpec each;
    each.file = kSparse;
    spec.programs = {each, each};
    spec.policy = policy;
    spec.seed = seed;
    spec.warm = kWarm;
    spec.length = kLength;
    spec.change = [](SimClusterOptions& options) {
      options.servers = kDataServers;
      options.storage.cpu = {};
      // Sockets of one host: a message and its answer take 65 to 70 us, bytes are copied.
      options.nic = NicModel();
      options.nic.bandwidth = 2'000'000'000;
    };
    const auto outcome = orchestra::run_once(spec);
    if (!outcome.ok()) return outcome.status();
    sum += outcome->rate / 1e6 / kSeeds;
  }
  return sum;
}

// How long after its restart the coordinator's slices gain again: until a window's throughput is nearer to `with` than to `without`.
double seconds_to_gain(const Course& course, double with, double without) {
  for (Nanos at = kRestart; at + kWindow * 2 <= kAll; at += kStep) {
    if (course.rate(at, at + kWindow * 2) > (with + without) / 2) return (at + kWindow - kRestart).seconds();
  }
  return (kAll - kRestart).seconds();
}

Result<Report> run(const Globals& globals) {
  const auto program = find_mpi_program();
  if (!program.ok()) return program.status();
  std::signal(SIGPIPE, SIG_IGN);
  const auto interrupt = catch_interrupts();
  if (!interrupt.ok()) return interrupt.status();
  auto directory = TemporaryDirectory::create("tutti-lab", 4_GiB);
  if (!directory.ok()) return directory.status();
  const TemporaryCluster cluster(*std::move(directory));
  TUTTI_TRY(prepare(globals, cluster.state()));
  Report report;
  report.settings = fmt::format(
      "real: 2 programs of {} ranks of {} read {} each in turn, with barriers, from files of their own on {} "
      "data servers; the disk, scheduler, "
      "placement and page cache of the simulated testbed, in real time; {} s, measured from {} s on",
      kRanks, program->library, to_string(kRequest), kDataServers, kLength.seconds(), kWarm.seconds());
  const std::string fcfs = orchestra::policy_of(orchestra::kFcfs);
  const std::string slices = orchestra::as_the_paper();
  const std::string both = orchestra::orchestrated();
  std::map<std::string, double> real;
  std::map<std::string, double> simulated;
  Course broken;
  for (const std::string& policy : {fcfs, both, slices}) {
    const bool kills = policy == slices;
    auto course =
        compete(globals, cluster.state(), *program, policy, kills ? kAll : kLength, kills, interrupt->get());
    if (!course.ok()) return course.status().with_context(policy);
    real[policy] = course->rate(kWarm, kills ? kKill : kLength);
    const auto rate = simulate(policy);
    if (!rate.ok()) return rate.status();
    simulated[policy] = *rate;
    report.rows.push_back({{"policy", policy},
                           {"mb_per_second", rounded(real[policy])},
                           {"simulated_mb_per_second", rounded(*rate)},
                           {"longest_ms", rounded(course->wait(kWarm, kills ? kKill : kLength))}});
    if (kills) broken = *std::move(course);
  }
  const auto ratio = [&](std::map<std::string, double>& rates, const std::string& policy) {
    return rates[policy] / rates[fcfs];
  };
  for (const auto& [name, policy] : {std::pair{"slices", slices}, std::pair{"default", both}}) {
    report.figure(fmt::format("real_ratio_{}", name), rounded(ratio(real, policy)));
    report.figure(fmt::format("simulated_ratio_{}", name), rounded(ratio(simulated, policy)));
    report.figure(fmt::format("real_over_simulated_{}", name),
                  rounded(ratio(real, policy) / ratio(simulated, policy)), {}, "0.85 to 1.15");
  }
  // Slices that were announced hold for two windows.
  const Nanos alone = kKill + kWindow * 3;
  const double without = broken.rate(alone, kRestart);
  report.figure("without_coordinator_over_fcfs", rounded(without / real[fcfs]), {}, "0.9 to 1.1");
  report.figure("longest_wait_ms_without_coordinator", rounded(broken.wait(kKill, kRestart)), {}, "<= 1000");
  report.figure("seconds_to_gain_after_restart", rounded(seconds_to_gain(broken, real[slices], real[fcfs])),
                {}, "<= 2");
  report.figure("after_restart_over_before", rounded(broken.rate(kRestart + 2_s, kAll) / real[slices]));
  Json course = Json::array();
  for (Nanos at; at + kWindow <= kAll; at += kWindow)
    course.push_back(rounded(broken.rate(at, at + kWindow)));
  report.rows.push_back({{"policy", slices},
                         {"coordinator_killed_at", kKill.seconds()},
                         {"started_at", kRestart.seconds()},
                         {"mb_per_second_by_window", std::move(course)}});
  return report;
}

}  // namespace

constinit const RealRun real_runs::orchestra_barrier = {
    "orchestra-barrier",
    "with daemons and MPI ranks of this host, the modelled disk in real time, and the coordinator killed",
    run};

}  // namespace tutti::cli
