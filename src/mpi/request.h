// Request: a read or write under way, behind a generalized request of the MPI library.
#pragma once

#include <mpi.h>

#include "base/status.h"
#include "base/units.h"
#include "env/task.h"

namespace tutti::mpi {

class Runtime;

struct Request {
  MPI_Request handle = MPI_REQUEST_NULL;
  MPI_File file = MPI_FILE_NULL;  // whose error handler hears of a failure
  bool ended = false;
  int code = MPI_SUCCESS;
  Bytes bytes;
};

// Makes the request and starts the task. The error code is that of making it.
int start_request(Runtime& runtime, MPI_File file, Task<Result<Bytes>> task, MPI_Request* handle);

}  // namespace tutti::mpi
