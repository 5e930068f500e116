#include "cli/mpi_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <sstream>

#include "cli/installed.h"

namespace tutti::cli {
namespace {

std::optional<std::string> find_on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "");
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string file = fmt::format("{}/{}", directory, name);
    if (!directory.empty() && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

}  // namespace

Result<MpiProgram> find_mpi_program(const std::string& library) {
  std::string missing;
  for (const std::string name : {"openmpi", "mpich"}) {
    if (!library.empty() && library != name) continue;
    const std::string launcher_name = "mpirun." + name;
    const auto launcher = find_on_path(launcher_name);
    const auto program = find_installed("tutti-bench-" + name, "tutti", "");
    if (launcher && program.ok()) return MpiProgram{name, *launcher, *program};
    if (!missing.empty()) missing += "; ";
    missing += launcher ? program.status().message() : fmt::format("no {} on the PATH", launcher_name);
  }
  if (missing.empty()) return Status(Code::invalid, fmt::format("{} is not openmpi or mpich", library));
  return Status(
      Code::not_found,
      fmt::format("no MPI to start ranks with ({}): install Open MPI (libopenmpi-dev openmpi-bin) or "
                  "MPICH (libmpich-dev mpich) and build Tutti again",
                  missing));
}

std::vector<std::string> launch_words(const MpiProgram& program, std::uint32_t ranks,
                                      const std::string& directory) {
  std::vector<std::string> words{program.launcher};
  if (program.library == "openmpi") {
    words.insert(words.end(), {"--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader"});
    // More processes than cores: unless it yields, each that waits spins through its time slice.
    words.insert(words.end(), {"--mca", "mpi_yield_when_idle", "1"});
    // Ranks that are killed do not remove their shared memory.
    words.insert(words.end(), {"--mca", "btl_vader_backing_directory", directory});
    words.insert(words.end(), {"--mca", "orte_tmpdir_base", directory});
    if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
  }
  words.insert(words.end(), {"-n", std::to_string(ranks), program.path});
  return words;
}

}  // namespace tutti::cli
