// MPI_Info objects as lists of hints.
#pragma once

#include <mpi.h>

#include "parallel/hints.h"

namespace tutti::mpi {

// Empty for MPI_INFO_NULL.
HintList hints_of(MPI_Info info);
// What the environment adds to the hints of the program: TUTTI_HINTS ("key=value;key=value"), then the file that
// ROMIO_HINTS names.
void add_environment(HintList& list);
// The caller frees it.
int make_info(const HintList& list, MPI_Info* info);

}  // namespace tutti::mpi
