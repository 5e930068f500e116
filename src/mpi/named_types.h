// The predefined datatypes of MPI.
#pragma once

#include <mpi.h>

#include "layout/flat_type.h"
#include "parallel/parallel_file.h"

namespace tutti::mpi {

// A predefined type in memory, or in a file of the given representation.
Result<FlatType> named_type(MPI_Datatype type, Representation representation);

}  // namespace tutti::mpi
