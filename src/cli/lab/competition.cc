#include "cli/lab/competition.h"

#include <cstring>
#include <memory>
#include <optional>
#include <sstream>

#include "cli/child.h"
#include "cli/output.h"

namespace tutti::cli {
namespace {

// Until the first round: the word has to reach every rank.
constexpr Nanos kLead = 500_ms;
// With ranks that say nothing, beyond the time that the rounds take.
constexpr Nanos kPatience = 30_s;

// On modelled disks.
UpOptions modelled(const std::string& policy) {
  UpOptions up;
  up.policy = std::make_optional(policy);
  up.device = "hdd";
  return up;
}

std::string path_of(std::size_t number) { return fmt::format("/program-{}", number); }

// Each word of a file is its own offset: a rank that gets others knows.
Task<Status> write_files(Client& client, CompetitionOptions options) {
  const Bytes round = options.request * options.requests * options.ranks;
  std::vector<std::byte> bytes(round.count());
  for (std::size_t number = 1; number <= options.programs; ++number) {
    OpenOptions how;
    how.write = true;
    how.create = true;
    auto file = co_await client.files().open(path_of(number), how);
    if (!file.ok()) co_return file.status();
    for (std::uint32_t i = 0; i < options.rounds; ++i) {
      const Bytes at = round * i;
      for (std::size_t word = 0; word < bytes.size(); word += sizeof(std::uint64_t)) {
        const std::uint64_t offset = at.count() + word;
        std::memcpy(bytes.data() + word, &offset, sizeof(offset));
      }
      TUTTI_CO_TRY(co_await (*file)->write(at, bytes));
    }
    TUTTI_CO_TRY(co_await (*file)->close());
  }
  co_return Status();
}

}  // namespace

// Each under an mpirun of its own. When one fails, all end.
struct Competition::Programs {
  std::vector<std::unique_ptr<Child>> all;

  Programs() = default;
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;
  ~Programs() {
    for (const auto& each : all) each->tell_to_end();
  }
};

Status Competition::prepare() {
  UpOptions up;
  up.servers = options_.servers;
  const auto config = bring_up(globals_, state_, up);
  if (!config.ok()) return config.status();
  {
    auto client = Client::open(globals_, config->config);
    if (!client.ok()) return client.status();
    TUTTI_TRY((*client)->run(write_files(**client, options_)));
  }
  return bring_down(state_).status();
}

// Ends when all their ranks are ready.
Status Competition::start(const MpiProgram& program, Programs& programs) const {
  for (std::size_t number = 1; number <= options_.programs; ++number) {
    std::vector<std::string> words{"tutti", "--dir", state_.path(), "--application", std::to_string(number),
                                   "run",   "--"};
    const auto launch = launch_words(program, options_.ranks, state_.path());
    words.insert(words.end(), launch.begin(), launch.end());
    words.insert(words.end(), {"rounds", "tutti:" + path_of(number), std::to_string(options_.rounds),
                               std::to_string(options_.request.count()), std::to_string(options_.requests)});
    auto child = Child::start(words, kLauncherGrace);
    if (!child.ok()) return child.status();
    programs.all.push_back(*std::move(child));
  }
  for (const auto& each : programs.all) {
    const auto ready = each->read_line(interrupt_, kPatience);
    if (!ready.ok()) return ready.status().with_context("start the ranks with " + program.launcher);
  }
  return {};
}

Result<std::vector<double>> Competition::end_of(std::size_t number, Programs& programs, Client& client,
                                                const std::function<void(Client&)>& look) const {
  Child& child = *programs.all[number];
  const Nanos deadline = client.loop().clock().now() + options_.period * options_.rounds + kPatience;
  Result<std::string> line = Status(Code::timed_out, "");
  while (line.code() == Code::timed_out) {
    if (client.loop().clock().now() > deadline) return line.status().with_context("an MPI program");
    line = child.read_line(interrupt_, look ? kLook : kPatience);
    if (look) look(client);
  }
  if (!line.ok()) return line.status();
  TUTTI_TRY(child.wait(kPatience));
  std::istringstream words(*line);
  std::vector<double> times;
  for (double seconds = 0; words >> seconds;) times.push_back(seconds);
  if (times.size() != options_.rounds)
    return Status(Code::malformed, "an MPI program gave no result: " + *line);
  return times;
}

Result<RoundTimes> Competition::run(const MpiProgram& program, const std::string& policy,
                                    const std::function<void(Client&)>& look) {
  const auto config = bring_up(globals_, state_, modelled(policy));
  if (!config.ok()) return config.status();
  RoundTimes times;
  {
    auto client = Client::open(globals_, config->config);
    if (!client.ok()) return client.status();
    Programs programs;
    TUTTI_TRY(start(program, programs));
    const Nanos first = (*client)->loop().clock().now() + kLead;
    const std::string begin = fmt::format("{} {}\n", first.count(), options_.period.count());
    for (const auto& each : programs.all)
      TUTTI_TRY(write_all(each->input(), std::as_bytes(std::span(begin)), "the start"));
    for (std::size_t number = 0; number < programs.all.size(); ++number) {
      auto rounds = end_of(number, programs, **client, look);
      if (!rounds.ok()) return rounds.status();
      times.push_back(*std::move(rounds));
    }
  }
  TUTTI_TRY(bring_down(state_).status());
  return times;
}

}  // namespace tutti::cli
