// tutti run: starts a program, usually mpirun, whose MPI files "tutti:/..." are on the cluster. With --gate it stays, and stands
// at the gate for the processes of the program (cli/gate/broker.h).
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/parse.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/gate/launch.h"
#include "cli/installed.h"
#include "cli/static_program.h"

namespace tutti::cli {
namespace {

struct RunOptions {
  std::vector<std::string> hints;
  std::vector<std::string> command;
  std::string gate;  // empty: none
  std::string gate_scope = "file";
  std::vector<std::string> gate_directories;
  std::string gate_limit, gate_stall;
  bool gate_sync = false;
};

// For MPI-IO, and for POSIX calls on the same names.
Result<std::string> find_mpi_library() {
  auto found = find_installed("libtutti_mpi.so", "", "../mpi");
  if (found.code() != Code::not_found) return found;
  return found.status().with_context(
      "this Tutti was built without an MPI library; install Open MPI or MPICH and build it again");
}

void append_to(const char* name, char separator, const std::string& value) {
  const char* before = std::getenv(name);
  const std::string text = before != nullptr && *before != 0 ? before + (separator + value) : value;
  ::setenv(name, text.c_str(), 1);
}

Status set_environment(const Globals& globals, const RunOptions& options) {
  const ClusterChoice choice = cluster_choice(globals);
  const auto config = load_cluster(choice, &environment_variable);
  if (!config.ok() && config.code() == Code::not_found && options.gate == "backoff") {
    // Nobody is asked, so nobody need be there.
    if (const auto library = find_mpi_library(); library.ok()) append_to("LD_PRELOAD", ':', *library);
    return {};
  }
  if (!config.ok()) return config.status();
  if (!config->has_files() && options.gate.empty()) {
    return {Code::invalid,
            "the cluster has a gate and no file system: say --gate, or name another with --cluster"};
  }
  const auto mpi_library = find_mpi_library();
  // A gate is useful also to programs without MPI.
  if (!mpi_library.ok() && config->has_files()) return mpi_library.status();
  const auto posix_library = find_installed("libtutti_posix.so", "", "../posix");
  if (!posix_library.ok()) return posix_library.status();
  const auto cluster = cluster_file(choice, &environment_variable);
  if (!cluster.ok()) return cluster.status();
  if (const auto patience = patience_of(globals); !patience.ok()) return patience.status();
  for (const std::string& hint : options.hints) {
    if (hint.find('=') == std::string::npos || hint.find(';') != std::string::npos)
      return {Code::invalid, fmt::format("--hint {}: write key=value", hint)};
    append_to("TUTTI_HINTS", ';', hint);
  }
  if (!globals.application.empty()) {
    const auto application = parse_application(globals.application);
    if (!application.ok()) return application.status().with_context("--application");
    ::setenv("TUTTI_APPLICATION", globals.application.c_str(), 1);
  }
  if (mpi_library.ok()) append_to("LD_PRELOAD", ':', *mpi_library);
  if (config->has_files()) append_to("LD_PRELOAD", ':', *posix_library);
  ::setenv("TUTTI_CLUSTER", cluster->c_str(), 1);
  if (!globals.patience.empty()) ::setenv("TUTTI_PATIENCE", globals.patience.c_str(), 1);
  return {};
}

// The launcher's words name the program somewhere.
Status check_program(const RunOptions& options) {
  for (const std::string& word : options.command) {
    if (!has_mpi_inside(word)) continue;
    return {Code::unsupported,
            fmt::format(
                "{} is linked statically with its MPI library, so its files would not be on Tutti: link it "
                "dynamically",
                word)};
  }
  return {};
}

Result<Nanos> duration_of(const std::string& text, const char* option, Nanos otherwise) {
  if (text.empty()) return otherwise;
  const auto parsed = parse_duration(text);
  return parsed.ok() ? parsed : parsed.status().with_context(option);
}

Status set_gate_environment(const RunOptions& options, const std::string& name) {
  const auto library = find_installed("libtutti_gate.so", "", "../posix");
  if (!library.ok()) return library.status();
  append_to("LD_PRELOAD", ':', *library);
  ::setenv(door::kNameVariable, name.c_str(), 1);
  ::setenv(door::kScopeVariable, options.gate_scope.c_str(), 1);
  ::setenv(door::kSyncVariable, options.gate_sync ? "1" : "0", 1);
  ::unsetenv(door::kDirectoryVariable);
  // Manual turns are the program's own.
  if (options.gate_scope != "manual") {
    for (const std::string& directory : options.gate_directories)
      append_to(door::kDirectoryVariable, ':', directory);
  }
  return {};
}

Result<int> run_at_gate(const Globals& globals, const RunOptions& options) {
  auto world = GateWorld::open(globals);
  if (!world.ok() && options.gate == "backoff") world = GateWorld::without_cluster();
  if (!world.ok()) return world.status();
  BrokerOptions broker_options;
  broker_options.session = (*world)->session_options(globals, program_name(options.command));
  broker_options.lock = options.gate != "backoff";
  broker_options.alone = options.gate == "lock" || options.gate == "lock+probe";
  broker_options.probe = options.gate == "backoff" || options.gate == "lock+probe";
  const auto limit = duration_of(options.gate_limit, "--gate-limit", 0_s);
  if (!limit.ok()) return limit.status();
  const auto stall = duration_of(options.gate_stall, "--gate-stall", broker_options.stall);
  if (!stall.ok()) return stall.status();
  broker_options.limit = *limit;
  broker_options.stall = *stall;
  auto broker = GateBroker::open((*world)->loop, (*world)->env(), broker_options);
  if (!broker.ok()) return broker.status();
  TUTTI_TRY(set_gate_environment(options, (*broker)->door()));
  auto code = run_and_wait((*world)->loop, options.command);
  (*broker)->close();
  return code;
}

int run_program(const Globals& globals, const RunOptions& options) {
  if (const Status usable = check_program(options); !usable.ok()) return report("run", usable);
  if (const Status ready = set_environment(globals, options); !ready.ok()) return report("run", ready);
  if (!options.gate.empty()) {
    const auto code = run_at_gate(globals, options);
    return code.ok() ? *code : report("run", code.status());
  }
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
  run.option("--gate", options->gate,
             "Write in turns with other jobs: auto (as many at a time as the storage feeds), lock (one at a "
             "time), backoff "
             "(probe, and wait while the file system is busy; needs no coordinator) or lock+probe")
      .one_of({"auto", "lock", "backoff", "lock+probe"});
  run.option("--gate-scope", options->gate_scope, "What a turn is for: a file, a collective call, or manual")
      .one_of({"file", "call", "manual"})
      .show_default();
  run.option("--gate-dir", options->gate_directories,
             "POSIX calls that write below this directory take turns too; may be repeated")
      .one_at_a_time();
  run.option("--gate-limit", options->gate_limit,
             "The longest wait for a turn; then the job goes on without");
  run.option("--gate-stall", options->gate_stall,
             "A job that holds a turn and writes nothing for so long loses it (60s)");
  run.flag("--gate-sync", options->gate_sync, "Flush files of POSIX calls before their turn ends");
  run.option("command", options->command, "The program and its arguments, after --").at_least(1).required();
  run.action([&globals = root.globals(), options] { return run_program(globals, *options); });
}

}  // namespace tutti::cli
