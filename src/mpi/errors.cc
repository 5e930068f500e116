#include "mpi/errors.h"

#include <fmt/format.h>

#include <array>

#include "mpi/genuine.h"
#include "mpi/library.h"
#include "mpi/runtime.h"

namespace tutti::mpi {

int error_class(const Status& status) {
  switch (status.code()) {
    case Code::ok:
      return MPI_SUCCESS;
    case Code::not_found:
      return MPI_ERR_NO_SUCH_FILE;
    case Code::exists:
      return MPI_ERR_FILE_EXISTS;
    case Code::permission:
    case Code::bad_capability:
      return MPI_ERR_ACCESS;
    case Code::not_directory:
    case Code::is_directory:
    case Code::name_too_long:
    case Code::too_many_links:
    case Code::cross_device:
      return MPI_ERR_BAD_FILE;
    case Code::no_space:
      return MPI_ERR_NO_SPACE;
    case Code::read_only:
      return MPI_ERR_READ_ONLY;
    case Code::not_empty:
    case Code::invalid:
      return MPI_ERR_ARG;
    case Code::busy:
      return MPI_ERR_FILE_IN_USE;
    case Code::unsupported:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    case Code::too_large:
      return MPI_ERR_CONVERSION;
    case Code::internal:
      return MPI_ERR_INTERN;
    case Code::io_error:
    case Code::corrupt:
    case Code::unavailable:
    case Code::timed_out:
    case Code::cancelled:
    case Code::malformed:
    case Code::expired:
    case Code::version:
    case Code::stale:
      break;
  }
  return MPI_ERR_IO;
}

Status status_of(int mpi_error, const char* what) {
  if (mpi_error == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  PMPI_Error_string(mpi_error, text.data(), &length);
  return {Code::io_error, fmt::format("{}: {}", what, text.data())};
}

namespace {

void call_default_handler(int code) {
#ifdef OPEN_MPI
  // It cannot call the handler of MPI_FILE_NULL: a file opened for the purpose inherits it.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_File_get_errhandler(MPI_FILE_NULL, &handler) != MPI_SUCCESS) return;
  const bool returns = handler == MPI_ERRORS_RETURN;
  PMPI_Errhandler_free(&handler);
  MPI_File file = MPI_FILE_NULL;
  if (returns) return;
  const WithoutLock others(Runtime::get().lock());
  if (open_genuine(&file) != MPI_SUCCESS) return;
  PMPI_File_call_errhandler(file, code);
  library().File_close(&file);
#else
  PMPI_File_call_errhandler(MPI_FILE_NULL, code);
#endif
}

}  // namespace

int raise(MPI_File file, int code) {
  if (code == MPI_SUCCESS) return code;
  if (file == MPI_FILE_NULL) {
    call_default_handler(code);
  } else {
    PMPI_File_call_errhandler(file, code);
  }
  return code;
}

}  // namespace tutti::mpi
