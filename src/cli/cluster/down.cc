// tutti down: stops a local cluster.
#include <filesystem>

#include "cli/cluster/choose_directory.h"
#include "cli/cluster/local_cluster.h"
#include "cli/command.h"
#include "cli/output.h"
#include "client/cluster_config.h"

namespace tutti::cli {
namespace {

constexpr Nanos kStopPatience = 5_s;

// By the pid files, not by cluster.toml: a damaged configuration must not keep daemons from being stopped.
std::vector<std::string> names_in(const StateDirectory& state) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(state.path() + "/run", error)) {
    if (entry.path().extension() == ".pid") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

int run_down(const Globals& globals, bool json) {
  const auto state = choose_state_directory(globals);
  if (!state.ok()) return report("down", state.status());
  const auto stopped = bring_down(*state);
  if (!stopped.ok()) return report("down", stopped.status());
  Json out = Json::array();
  std::size_t killed = 0;
  for (const Stopped& each : *stopped) {
    out.push_back({{"name", each.name}, {"pid", each.pid}, {"killed", each.killed}});
    killed += each.killed ? 1 : 0;
  }
  if (json) return print_json(out);
  fmt::print("Stopped {} daemons in {}\n", stopped->size(), state->path());
  if (killed > 0) fmt::print("{} of them did not leave when asked and were killed\n", killed);
  return kSuccess;
}

}  // namespace

Result<std::vector<Stopped>> bring_down(const StateDirectory& state) {
  const Status nothing(Code::not_found,
                       fmt::format("no cluster runs in {}; `tutti up` starts one", state.path()));
  std::error_code error;
  if (!std::filesystem::exists(state.path(), error)) return nothing;
  TUTTI_TRY(state.check());
  auto lock = state.lock();
  if (!lock.ok()) return lock.status();
  auto stopped = stop_daemons(state, names_in(state), kStopPatience);
  if (stopped.empty()) return nothing;
  return stopped;
}

void add_down(Command& root) {
  auto json = std::make_shared<bool>(false);
  Command down = root.add("down", "Stop the local cluster; its files stay", "tutti down");
  down.flag("--json", *json, "Print JSON");
  down.action([&globals = root.globals(), json] { return run_down(globals, *json); });
}

}  // namespace tutti::cli
