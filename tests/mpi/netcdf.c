// A NetCDF-4 file made in parallel by the NetCDF library, through HDF5: a fixed and a record variable, collective and
// independent; and read back by any number of processes.
// usage: netcdf write|read FILE
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRows = 36, kColumns = 50, kRecords = 4, kVariables = 3 };

static int rank;
static int size;

static void must(int error, const char* what) {
  if (error == NC_NOERR) return;
  fprintf(stderr, "rank %d: FAILED %s: %s\n", rank, what, nc_strerror(error));
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static double value(size_t row, size_t column, int set) { return (double)(row * 1000 + column) + set * 0.5; }

// Each rank moves rows of its own. The second variable is accessed independently.
static void move(int file, int variable, size_t rows, int number, int write) {
  const size_t start[2] = {rows * (size_t)rank / (size_t)size, 0};
  const size_t count[2] = {rows * (size_t)(rank + 1) / (size_t)size - start[0], kColumns};
  const size_t cells = count[0] * kColumns;
  double* data = calloc(cells + 1, sizeof(double));
  must(nc_var_par_access(file, variable, number == 1 ? NC_INDEPENDENT : NC_COLLECTIVE), "var_par_access");
  for (size_t i = 0; write && i < cells; ++i)
    data[i] = value(start[0] + i / kColumns, i % kColumns, number);
  if (write) {
    must(nc_put_vara_double(file, variable, start, count, data), "put_vara");
  } else {
    must(nc_get_vara_double(file, variable, start, count, data), "get_vara");
    for (size_t i = 0; i < cells; ++i)
      must(data[i] == value(start[0] + i / kColumns, i % kColumns, number) ? NC_NOERR : NC_ERANGE, "compare");
  }
  free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  must(argc == 3 ? NC_NOERR : NC_EINVAL, "usage: netcdf write|read FILE");
  const int write = strcmp(argv[1], "write") == 0;
  int file;
  int variables[kVariables];
  const char* names[kVariables] = {"collective", "independent", "records"};
  if (write) {
    int dimensions[3];
    must(nc_create_par(argv[2], NC_CLOBBER | NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "create_par");
    must(nc_def_dim(file, "row", kRows, &dimensions[0]), "def_dim");
    must(nc_def_dim(file, "column", kColumns, &dimensions[1]), "def_dim");
    must(nc_def_dim(file, "time", NC_UNLIMITED, &dimensions[2]), "def_dim");
    const int timed[2] = {dimensions[2], dimensions[1]};
    for (int i = 0; i < kVariables; ++i)
      must(nc_def_var(file, names[i], NC_DOUBLE, 2, i == 2 ? timed : dimensions, &variables[i]), "def_var");
    must(nc_put_att_text(file, NC_GLOBAL, "title", 5, "Tutti"), "put_att");
    must(nc_enddef(file), "enddef");
  } else {
    must(nc_open_par(argv[2], NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "open_par");
    for (int i = 0; i < kVariables; ++i) must(nc_inq_varid(file, names[i], &variables[i]), "inq_varid");
  }
  for (int i = 0; i < kVariables; ++i) move(file, variables[i], i == 2 ? kRecords : kRows, i, write);
  must(nc_close(file), "close");
  if (rank == 0) printf("good\n");
  MPI_Finalize();
  return 0;
}
