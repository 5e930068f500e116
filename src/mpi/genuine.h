// Genuine file handles of the MPI library, to hold the place of ours.
#pragma once

#include <mpi.h>

#include <vector>

#include "mpi/fair_lock.h"

namespace tutti::mpi {

// Opens /dev/null for this process alone with the MPI library's own function.
int open_genuine(MPI_File* handle);

// Opens a file for this process alone.
int open_alone(const char* name, int amode, MPI_File* handle);

// Handles for open files. Open MPI takes a millisecond to open one: handles that were given back are used again.
class GenuineFiles {
 public:
  // The lock that callers hold; others may have it while the library opens or closes one.
  explicit GenuineFiles(FairLock& lock) : lock_(lock) {}

  // A handle with the error handler of new files.
  int take(MPI_File* handle);
  void give_back(MPI_File handle);
  // Before MPI ends.
  void close_all();

 private:
  FairLock& lock_;
  std::vector<MPI_File> spare_;
};

}  // namespace tutti::mpi
