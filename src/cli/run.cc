// tutti run: starts a program, usually mpirun, whose MPI files "tutti:/..." are on the cluster.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/parse.h"
#include "cli/client.h"
#include "cli/cluster/choose_directory.h"
#include "cli/command.h"
#include "cli/installed.h"

namespace tutti::cli {
namespace {

struct RunOptions {
  std::vector<std::string> hints;
  std::vector<std::string> command;
};

constexpr const char* kLibrary = "libtutti_mpi.so";

Result<std::string> find_library() {
  auto found = find_installed(kLibrary, "", "../mpi");
  if (found.code() != Code::not_found) return found;
  return found.status().with_context(
      "this Tutti was built without an MPI library; install Open MPI or MPICH and build it again");
}

Result<std::string> cluster_file(const Globals& globals) {
  if (const auto config = find_cluster(globals); !config.ok()) return config.status();
  if (!globals.cluster.empty()) return globals.cluster;
  if (globals.directory.empty() && std::getenv("TUTTI_CLUSTER") != nullptr) return default_cluster_file();
  const auto state = choose_state_directory(globals);
  if (!state.ok()) return state.status();
  return state->config_path();
}

void append_to(const char* name, char separator, const std::string& value) {
  const char* before = std::getenv(name);
  const std::string text = before != nullptr && *before != 0 ? before + (separator + value) : value;
  ::setenv(name, text.c_str(), 1);
}

Status set_environment(const Globals& globals, const RunOptions& options) {
  const auto library = find_library();
  if (!library.ok()) return library.status();
  const auto cluster = cluster_file(globals);
  if (!cluster.ok()) return cluster.status();
  if (const auto patience = parse_duration(globals.patience); !patience.ok())
    return patience.status().with_context("--patience");
  for (const std::string& hint : options.hints) {
    if (hint.find('=') == std::string::npos || hint.find(';') != std::string::npos)
      return {Code::invalid, fmt::format("--hint {}: write key=value", hint)};
    append_to("TUTTI_HINTS", ';', hint);
  }
  if (!globals.application.empty()) append_to("TUTTI_HINTS", ';', "tutti_app_id=" + globals.application);
  append_to("LD_PRELOAD", ':', *library);
  ::setenv("TUTTI_CLUSTER", std::filesystem::absolute(*cluster).c_str(), 1);
  ::setenv("TUTTI_PATIENCE", globals.patience.c_str(), 1);
  return {};
}

int run_program(const Globals& globals, const RunOptions& options) {
  if (const Status ready = set_environment(globals, options); !ready.ok()) return report("run", ready);
  std::vector<char*> arguments;
  for (const std::string& word : options.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return report("run", Status::from_errno(errno, fmt::format("start {}", options.command.front())));
}

}  // namespace

void add_run(Command& root) {
  auto options = std::make_shared<RunOptions>();
  Command run = root.add("run", "Run an MPI program whose files tutti:/... are on the cluster",
                         "tutti run -- mpirun -n 16 ./app tutti:/out.dat");
  run.option("--hint", options->hints, "An MPI-IO hint, key=value, for all files; may be repeated")
      .one_at_a_time();
  run.option("command", options->command, "The program and its arguments, after --").at_least(1).required();
  run.action([&globals = root.globals(), options] { return run_program(globals, *options); });
}

}  // namespace tutti::cli
