#include "cli/lab_real.h"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>

#include "cli/child.h"
#include "cli/client.h"
#include "cli/local_cluster.h"
#include "cli/output.h"
#include "cli/temporary_cluster.h"
#include "lab/experiments/testbed.h"

namespace tutti::cli {
namespace {

constexpr std::uint32_t kServers = 4;
constexpr std::uint32_t kApplications = 4;
constexpr std::uint32_t kRanks = 4;
constexpr std::uint32_t kRounds = 12;
constexpr Bytes kRequest = 1_MiB;
// A round is over well before the next: some 16 requests of 20 ms on each server.
constexpr Nanos kPeriod = 800_ms;

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

using Ranks = std::vector<std::unique_ptr<Child>>;

// The ranks of an application, each a plain process; whoever launches them otherwise replaces this.
Status start_ranks(const std::string& directory, std::uint32_t application, Ranks& ranks) {
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    auto child = Child::start({"tutti", "--dir", directory, "--application", std::to_string(application),
                               "lab-rank", "--path", path_of(application), "--rank", std::to_string(rank),
                               "--ranks", std::to_string(kRanks), "--rounds", std::to_string(kRounds),
                               "--request", std::to_string(kRequest.count())});
    if (!child.ok()) return child.status();
    ranks.push_back(*std::move(child));
  }
  return {};
}

// Mean over applications and rounds of the time until an application's last rank has its bytes.
Result<double> mean_completion(const Globals& globals, const StateDirectory& state, const std::string& policy,
                               int interrupt) {
  UpOptions up;
  up.policy = policy;
  up.device = "hdd";
  const auto config = bring_up(globals, state, up);
  if (!config.ok()) return config.status();
  Ranks ranks;
  for (std::uint32_t i = 1; i <= kApplications; ++i) TUTTI_TRY(start_ranks(state.path(), i, ranks));
  for (auto& rank : ranks) TUTTI_TRY(rank->read_line(interrupt).status());
  Executor executor;
  const RealClock clock(executor);
  const std::string start = fmt::format("{} {}\n", (clock.now() + 300_ms).count(), kPeriod.count());
  for (auto& rank : ranks) TUTTI_TRY(write_all(rank->input(), std::as_bytes(std::span(start)), "the start"));
  std::vector<std::vector<double>> last(kApplications, std::vector<double>(kRounds));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto line = ranks[i]->read_line(interrupt);
    if (!line.ok()) return line.status();
    TUTTI_TRY(ranks[i]->wait());
    const Json times = Json::parse(*line, nullptr, false);
    if (!times.is_array() || times.size() != kRounds) {
      return Status(Code::malformed, "a rank gave no result: " + *line);
    }
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      double& latest = last[i / kRanks][round];
      latest = std::max(latest, times[round].get<double>());
    }
  }
  TUTTI_TRY(bring_down(state).status());
  std::vector<double> all;
  for (const auto& application : last) all.insert(all.end(), application.begin(), application.end());
  return mean(all);
}

Task<Result<std::vector<double>>> read_rounds(Client& client, LabRank options) {
  auto file = co_await client.files().open(options.path, OpenOptions());
  if (!file.ok()) co_return file.status();
  TUTTI_CO_TRY((co_await (*file)->size()).status());  // connections stand before the first round
  fmt::print("ready\n");
  std::fflush(stdout);
  std::int64_t start = 0;
  std::int64_t period = 0;
  if (!(std::cin >> start >> period)) co_return Status(Code::cancelled, "the experiment has ended");
  Clock& clock = client.loop().clock();
  std::vector<std::byte> buffer(options.request);
  std::vector<double> times;
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    const Nanos due(start + period * round);
    co_await clock.sleep_until(due);
    const Bytes offset = Bytes(options.request) * (std::uint64_t{round} * options.ranks + options.rank);
    const auto got = co_await (*file)->read(offset, buffer);
    if (!got.ok()) co_return got.status();
    times.push_back((clock.now() - due).seconds());
  }
  co_return times;
}

}  // namespace

Result<Report> run_real_spread(const Globals& globals) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto interrupt = catch_interrupts();
  if (!interrupt.ok()) return interrupt.status();
  auto directory =
      TemporaryDirectory::create("tutti-lab", kRequest * kRanks * kRounds * kApplications + 64_MiB);
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
      "real: {} applications of {} ranks on {} data servers, modelled HDD in real time, {} rounds of one "
      "read of {} each",
      kApplications, kRanks, kServers, kRounds, to_string(kRequest));
  std::vector<double> completions;
  for (const std::string& policy : {std::string("fcfs"), uncoordinated(), coordinated(Medium::hdd)}) {
    const auto completion = mean_completion(globals, cluster.state(), policy, interrupt->get());
    if (!completion.ok()) return completion.status().with_context(policy);
    completions.push_back(*completion);
    report.rows.push_back({{"policy", policy}, {"completion", rounded(*completion)}});
  }
  report.figure("real_reduction", rounded(reduction(completions[0], completions[2])), {}, ">= 0.2");
  report.figure("real_reduction_one_by_one", rounded(reduction(completions[1], completions[2])), {},
                ">= 0.2");
  return report;
}

int run_lab_rank(const Globals& globals, const LabRank& options) {
  auto client = Client::open(globals);
  if (!client.ok()) return report("lab-rank", client.status());
  const auto times = (*client)->run(read_rounds(**client, options));
  if (!times.ok()) return report("lab-rank " + options.path, times.status());
  fmt::print("{}\n", Json(*times).dump());
  return kSuccess;
}

}  // namespace tutti::cli
