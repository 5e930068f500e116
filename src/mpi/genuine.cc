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
  return library().File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, handle);
}

}  // namespace tutti::mpi
