// Genuine file handles of the MPI library, to hold the place of ours.
#pragma once

#include <mpi.h>

#include <vector>

namespace tutti::mpi {

// Opens /dev/null for this process alone with the MPI library's own function.
int open_genuine(MPI_File* handle);

// Handles for open files. Open MPI takes a millisecond to open one: handles that were given back are used again.
class GenuineFiles {
 public:
  // A handle with the error handler of new files.
  int take(MPI_File* handle);
  void give_back(MPI_File handle);
  // Before MPI ends.
  void close_all();

 private:
  std::vector<MPI_File> spare_;
};

}  // namespace tutti::mpi
