// A NetCDF file made by PnetCDF: fixed and record variables, collective and independent; and read back by any number
// of processes.
// usage: pnetcdf write|read FILE
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRows = 36, kColumns = 50, kRecords = 4 };

static int rank;
static int size;

static void must(int error, const char* what) {
  if (error == NC_NOERR) return;
  fprintf(stderr, "rank %d: FAILED %s: %s\n", rank, what, ncmpi_strerror(error));
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static double value(MPI_Offset row, MPI_Offset column, int set) {
  return (double)(row * 1000 + column) + set * 0.5;
}

static void move(int file, int variable, int rows, int number, int write) {
  const MPI_Offset start[2] = {rows * rank / size, 0};
  const MPI_Offset count[2] = {rows * (rank + 1) / size - start[0], kColumns};
  const size_t cells = (size_t)(count[0] * kColumns);
  double* data = calloc(cells + 1, sizeof(double));
  for (size_t i = 0; write && i < cells; ++i)
    data[i] = value(start[0] + (MPI_Offset)i / kColumns, (MPI_Offset)i % kColumns, number);
  if (write && number == 1) {
    must(ncmpi_begin_indep_data(file), "begin_indep_data");
    must(ncmpi_put_vara_double(file, variable, start, count, data), "put_vara");
    must(ncmpi_end_indep_data(file), "end_indep_data");
  } else if (write) {
    must(ncmpi_put_vara_double_all(file, variable, start, count, data), "put_vara_all");
  } else {
    must(ncmpi_get_vara_double_all(file, variable, start, count, data), "get_vara_all");
    for (size_t i = 0; i < cells; ++i)
      must(data[i] == value(start[0] + (MPI_Offset)i / kColumns, (MPI_Offset)i % kColumns, number)
               ? NC_NOERR
               : NC_ERANGE,
           "compare");
  }
  free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  must(argc == 3 ? NC_NOERR : NC_EINVAL, "usage: pnetcdf write|read FILE");
  const int write = strcmp(argv[1], "write") == 0;
  int file;
  int variables[3];
  const char* names[] = {"collective", "independent", "records"};
  if (write) {
    int dimensions[3];
    must(ncmpi_create(MPI_COMM_WORLD, argv[2], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), "create");
    must(ncmpi_def_dim(file, "row", kRows, &dimensions[0]), "def_dim");
    must(ncmpi_def_dim(file, "column", kColumns, &dimensions[1]), "def_dim");
    must(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dimensions[2]), "def_dim");
    const int timed[2] = {dimensions[2], dimensions[1]};
    for (int i = 0; i < 3; ++i)
      must(ncmpi_def_var(file, names[i], NC_DOUBLE, 2, i == 2 ? timed : dimensions, &variables[i]),
           "def_var");
    must(ncmpi_put_att_text(file, NC_GLOBAL, "title", 5, "Tutti"), "put_att");
    must(ncmpi_enddef(file), "enddef");
  } else {
    must(ncmpi_open(MPI_COMM_WORLD, argv[2], NC_NOWRITE, MPI_INFO_NULL, &file), "open");
    for (int i = 0; i < 3; ++i) must(ncmpi_inq_varid(file, names[i], &variables[i]), "inq_varid");
  }
  for (int i = 0; i < 3; ++i) move(file, variables[i], i == 2 ? kRecords : kRows, i, write);
  must(ncmpi_close(file), "close");
  if (rank == 0) printf("good\n");
  MPI_Finalize();
  return 0;
}
