// coord-spread in reality: 4 applications of 4 MPI ranks on 4 data servers of this host, with the modelled disk in real time;
// a cluster in a temporary directory, started anew for each policy.
//
// Twice: with one request of each rank at once, 16 at each server, which the disk's queue takes; and with four, 64 at
// each, which it does not.
#include <csignal>
#include <memory>

#include "cli/child.h"
#include "cli/cluster/temporary_cluster.h"
#include "cli/lab/competition.h"
#include "cli/lab/real_run.h"
#include "cli/output.h"
#include "lab/experiments/window/testbed.h"

namespace tutti::cli {
namespace {

// Mean over applications and rounds of the time until an application's last rank has its bytes, by policy.
Result<std::vector<double>> completions(const Globals& globals, const MpiProgram& program,
                                        const CompetitionOptions& options,
                                        const std::vector<std::string>& policies, int interrupt,
                                        Report& report) {
  auto directory = TemporaryDirectory::create("tutti-lab", options.bytes() + 128_MiB);
  if (!directory.ok()) return directory.status();
  const TemporaryCluster cluster(*std::move(directory));
  Competition competition(globals, cluster.state(), options, interrupt);
  TUTTI_TRY(competition.prepare());
  std::vector<double> means;
  for (const std::string& policy : policies) {
    const auto times = competition.run(program, policy, nullptr);
    if (!times.ok()) return times.status().with_context(policy);
    std::vector<double> all;
    for (const std::vector<double>& rounds : *times) all.insert(all.end(), rounds.begin(), rounds.end());
    means.push_back(mean(all));
    std::sort(all.begin(), all.end());
    report.rows.push_back({{"in_flight", options.programs * options.ranks * options.requests},
                           {"policy", policy},
                           {"completion", rounded(means.back())},
                           {"p99", rounded(all[(all.size() - 1) * 99 / 100])},
                           {"jain", rounded(jain(all))}});
  }
  return means;
}

Result<Report> run(const Globals& globals) {
  const auto program = find_mpi_program();
  if (!program.ok()) return program.status();
  std::signal(SIGPIPE, SIG_IGN);
  const auto interrupt = catch_interrupts();
  if (!interrupt.ok()) return interrupt.status();
  const CompetitionOptions few;
  CompetitionOptions many = few;
  many.requests = 4;
  many.rounds = 8;
  many.period = 2500_ms;
  Report report;
  report.settings = fmt::format(
      "real: {} applications of {} ranks of {} on {} data servers, modelled HDD in real time; {} rounds of "
      "one read "
      "of {} each, and {} rounds of {} at once",
      few.programs, few.ranks, program->library, few.servers, few.rounds, to_string(few.request), many.rounds,
      many.requests);
  const std::string window = default_window(Medium::hdd);
  const auto sixteen =
      completions(globals, *program, few, {"fcfs", fcfs_single(), window}, interrupt->get(), report);
  if (!sixteen.ok()) return sixteen.status();
  const auto all = completions(globals, *program, many, {"fcfs", window}, interrupt->get(), report);
  if (!all.ok()) return all.status();
  report.figure("real_reduction", rounded(reduction((*sixteen)[0], (*sixteen)[2])));
  report.figure("real_reduction_one_by_one", rounded(reduction((*sixteen)[1], (*sixteen)[2])));
  report.figure("real_reduction_64", rounded(reduction((*all)[0], (*all)[1])), {}, ">= 0.2");
  report.notes.push_back(
      "real_reduction: against the default fcfs with 16 requests at each server, all of which fit into the "
      "disk's "
      "queue: the disk orders them itself, whatever the policy. real_reduction_64: with 64 they do not fit.");
  return report;
}

}  // namespace

constinit const RealRun real_runs::coord_spread = {
    "coord-spread", "with daemons and MPI ranks of this host, the modelled disk in real time", run};

}  // namespace tutti::cli
