// Programs that nothing can be preloaded into.
#pragma once

#include <string>

namespace tutti::cli {

// Whether the file is a program with the file functions of MPI inside: then it was linked statically with its MPI library,
// and calls never come to what is preloaded. False for everything that cannot be told.
bool has_mpi_inside(const std::string& path);

}  // namespace tutti::cli
