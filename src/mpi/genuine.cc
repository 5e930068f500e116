#include "mpi/genuine.h"

#include "mpi/library.h"

namespace tutti::mpi {
namespace {

#ifdef OPEN_MPI
constexpr std::size_t kMostSpare = 16;
#else
constexpr std::size_t kMostSpare = 0;  // others open one in no time
#endif

// Gives the file the error handler that new files get.
int reset_handler(MPI_File file) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  int error = PMPI_File_get_errhandler(MPI_FILE_NULL, &handler);
  if (error != MPI_SUCCESS) return error;
  error = PMPI_File_set_errhandler(file, handler);
  PMPI_Errhandler_free(&handler);
  return error;
}

}  // namespace

int open_alone(const char* name, int amode, MPI_File* handle) {
  const int error = library().File_open(MPI_COMM_SELF, name, amode, MPI_INFO_NULL, handle);
#ifdef MPICH_VERSION
  // MPICH does not count a file that inherits the handler of MPI_FILE_NULL, but counts it down when the file is closed
  // or gets another handler, and aborts below zero. To ask for a handler counts it, and here nothing takes that back.
  MPI_Errhandler inherited = MPI_ERRHANDLER_NULL;
  if (error == MPI_SUCCESS) PMPI_File_get_errhandler(*handle, &inherited);
#endif
  return error;
}

int open_genuine(MPI_File* handle) { return open_alone("/dev/null", MPI_MODE_RDWR, handle); }

int GenuineFiles::take(MPI_File* handle) {
  if (spare_.empty()) {
    const WithoutLock others(lock_);
    return open_genuine(handle);
  }
  *handle = spare_.back();
  spare_.pop_back();
  return reset_handler(*handle);
}

void GenuineFiles::give_back(MPI_File handle) {
  if (spare_.size() < kMostSpare) {
    spare_.push_back(handle);
  } else {
    const WithoutLock others(lock_);
    library().File_close(&handle);
  }
}

void GenuineFiles::close_all() {
  for (MPI_File& each : spare_) library().File_close(&each);
  spare_.clear();
}

}  // namespace tutti::mpi
