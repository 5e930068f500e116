// Errors of Tutti as errors of MPI.
#pragma once

#include <mpi.h>

#include "base/status.h"

namespace tutti::mpi {

// The error class that says the same; MPI_SUCCESS when ok. Classes are valid error codes.
int error_class(const Status& status);
// An error of the MPI library itself, as when messages between ranks fail.
Status status_of(int mpi_error, const char* what);
// Calls the error handler of the file (MPI_FILE_NULL: the default one) unless the code is MPI_SUCCESS, and returns the
// code.
int raise(MPI_File file, int code);

}  // namespace tutti::mpi
