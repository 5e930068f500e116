// tutti run: starts a program, usually mpirun, whose MPI files "tutti:/..." are on the cluster.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/installed.h"
#include "cli/static_program.h"

namespace tutti::cli {
namespace {

struct RunOptions {
  std::vector<std::string> hints;
  std::vector<std::string> command;
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
  const auto mpi_library = find_mpi_library();
  if (!mpi_library.ok()) return mpi_library.status();
  const auto posix_library = find_installed("libtutti_posix.so", "", "../posix");
  if (!posix_library.ok()) return posix_library.status();
  const ClusterChoice choice = cluster_choice(globals);
  if (const auto config = load_cluster(choice, &environment_variable); !config.ok()) return config.status();
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
  append_to("LD_PRELOAD", ':', *mpi_library);
  append_to("LD_PRELOAD", ':', *posix_library);
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

int run_program(const Globals& globals, const RunOptions& options) {
  if (const Status usable = check_program(options); !usable.ok()) return report("run", usable);
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
