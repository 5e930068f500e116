// A profiling tool as MPI provides for: it has the MPI_ functions, counts the calls and passes them on as PMPI_.
#include <mpi.h>
#include <stdio.h>

static int opened, written, waited;

int MPI_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
  ++opened;
  return PMPI_File_open(comm, name, mode, info, file);
}

int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void* data, int count, MPI_Datatype type,
                      MPI_Status* status) {
  ++written;
  return PMPI_File_write_at(file, offset, data, count, type, status);
}

int MPI_File_iwrite_all(MPI_File file, const void* data, int count, MPI_Datatype type, MPI_Request* request) {
  ++written;
  return PMPI_File_iwrite_all(file, data, count, type, request);
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  ++waited;
  return PMPI_Waitall(count, requests, statuses);
}

int MPI_Finalize(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int code = PMPI_Finalize();
  if (rank == 0) printf("profiler: %d opened, %d written, %d waited\n", opened, written, waited);
  return code;
}
