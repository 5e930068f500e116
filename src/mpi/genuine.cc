#include "mpi/genuine.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "mpi/library.h"

namespace tutti::mpi {
namespace {

// Takes a variable out of the environment until it is destroyed: ROMIO would print the hints of /dev/null.
class Without {
 public:
  explicit Without(const char* name) : name_(name) {
    if (const char* value = std::getenv(name); value != nullptr) value_ = value;
    if (value_) ::unsetenv(name);
  }
  ~Without() {
    if (value_) ::setenv(name_, value_->c_str(), 1);
  }
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;

 private:
  const char* name_;
  std::optional<std::string> value_;
};

}  // namespace

int open_genuine(MPI_File* handle) {
  const Without hints("ROMIO_HINTS");
  const Without print("ROMIO_PRINT_HINTS");
  const int error = library().File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, handle);
#ifdef MPICH_VERSION
  // MPICH does not count a file that inherits the handler of MPI_FILE_NULL, but counts it down when the file is closed
  // or gets another handler, and aborts below zero. To ask for a handler counts it, and here nothing takes that back.
  MPI_Errhandler inherited = MPI_ERRHANDLER_NULL;
  if (error == MPI_SUCCESS) PMPI_File_get_errhandler(*handle, &inherited);
#endif
  return error;
}

}  // namespace tutti::mpi
