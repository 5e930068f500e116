// The MPI program of this command, `tutti-bench-LIBRARY`, and how it is started on this host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace tutti::cli {

struct MpiProgram {
  std::string library;   // "openmpi" or "mpich"
  std::string launcher;  // path of its mpirun
  std::string path;
};

// The program for `library`; if that is empty, for Open MPI, whose processes give the core away while they wait, else
// for MPICH. Both the program and its launcher must be there: Code::not_found says what to install.
Result<MpiProgram> find_mpi_program(const std::string& library = {});

// The words that start `ranks` processes of it, of which there may be more than cores; its arguments follow. What a job
// that is cut short leaves behind is in `directory`.
std::vector<std::string> launch_words(const MpiProgram& program, std::uint32_t ranks,
                                      const std::string& directory);

// What a launcher gets to end its processes when they are no longer wanted.
inline constexpr Nanos kLauncherGrace = 5_s;

}  // namespace tutti::cli
