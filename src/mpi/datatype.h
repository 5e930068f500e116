// MPI datatypes as FlatTypes.
#pragma once

#include <mpi.h>

#include "base/status.h"
#include "layout/flat_type.h"
#include "parallel/parallel_file.h"

namespace tutti::mpi {

// Flattens MPI datatypes, each once: what was made is kept at the datatype as an attribute, and goes with it.
class Datatypes {
 public:
  Datatypes();
  Datatypes(const Datatypes&) = delete;
  Datatypes& operator=(const Datatypes&) = delete;
  ~Datatypes() = default;
  // Before MPI_Finalize.
  void release();

  // The bytes of the type in memory, or of its data in a file of the given representation: in external32 elements have
  // the standard's sizes. Code::invalid for MPI_DATATYPE_NULL or a type of another kind of combiner.
  Result<FlatType> flatten(MPI_Datatype type, Representation representation = Representation::native);

 private:
  int key_ = MPI_KEYVAL_INVALID;
};

bool is_named(MPI_Datatype type);

}  // namespace tutti::mpi
