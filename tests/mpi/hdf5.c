// An HDF5 file made in parallel: contiguous and chunked datasets, collective and independent transfers, attributes,
// groups; and read back by any number of processes.
// usage: hdf5 write|read FILE
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRows = 36, kColumns = 50 };

static int rank;
static int size;

static void must(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: FAILED %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static double value(int row, int column, int set) { return row * 1000.0 + column + set * 0.5; }

// The rows of this process, of all of them in blocks.
static void my_rows(hsize_t* first, hsize_t* count) {
  *first = (hsize_t)(kRows * rank / size);
  *count = (hsize_t)(kRows * (rank + 1) / size) - *first;
}

static hid_t transfer(int collective) {
  const hid_t plist = H5Pcreate(H5P_DATASET_XFER);
  must(H5Pset_dxpl_mpio(plist, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT) >= 0, "dxpl");
  return plist;
}

static void move(hid_t set, int number, int collective, int write) {
  hsize_t start[2] = {0, 0};
  hsize_t count[2] = {0, kColumns};
  my_rows(&start[0], &count[0]);
  double* data = calloc(count[0] * kColumns + 1, sizeof(double));
  for (hsize_t i = 0; write && i < count[0] * kColumns; ++i)
    data[i] = value((int)(start[0] + i / kColumns), (int)(i % kColumns), number);
  const hid_t file_space = H5Dget_space(set);
  must(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0, "hyperslab");
  const hid_t memory = H5Screate_simple(2, count, NULL);
  const hid_t plist = transfer(collective);
  if (write) {
    must(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, file_space, plist, data) >= 0, "write");
  } else {
    must(H5Dread(set, H5T_NATIVE_DOUBLE, memory, file_space, plist, data) >= 0, "read");
    for (hsize_t i = 0; i < count[0] * kColumns; ++i)
      must(data[i] == value((int)(start[0] + i / kColumns), (int)(i % kColumns), number), "compare");
  }
  H5Pclose(plist);
  H5Sclose(memory);
  H5Sclose(file_space);
  free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  must(argc == 3, "usage: hdf5 write|read FILE");
  const int write = strcmp(argv[1], "write") == 0;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "fapl");
  const hid_t file = write ? H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, access)
                           : H5Fopen(argv[2], H5F_ACC_RDONLY, access);
  must(file >= 0, "open");
  const char* names[] = {"/contiguous/collective", "/contiguous/independent", "/chunked/collective",
                         "/chunked/independent"};
  if (write) {
    const hid_t plain = H5Gcreate2(file, "/contiguous", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t chunked = H5Gcreate2(file, "/chunked", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    must(plain >= 0 && chunked >= 0, "groups");
    H5Gclose(plain);
    H5Gclose(chunked);
  }
  const hsize_t sizes[2] = {kRows, kColumns};
  const hsize_t chunk[2] = {7, 11};
  for (int i = 0; i < 4; ++i) {
    hid_t set = -1;
    if (write) {
      const hid_t space = H5Screate_simple(2, sizes, NULL);
      const hid_t create = H5Pcreate(H5P_DATASET_CREATE);
      if (i >= 2) must(H5Pset_chunk(create, 2, chunk) >= 0, "chunk");
      set = H5Dcreate2(file, names[i], H5T_IEEE_F64LE, space, H5P_DEFAULT, create, H5P_DEFAULT);
      must(set >= 0, "create");
      const hid_t scalar = H5Screate(H5S_SCALAR);
      const hid_t note = H5Acreate2(set, "number", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
      must(H5Awrite(note, H5T_NATIVE_INT, &i) >= 0, "attribute");
      H5Aclose(note);
      H5Sclose(scalar);
      H5Pclose(create);
      H5Sclose(space);
    } else {
      set = H5Dopen2(file, names[i], H5P_DEFAULT);
      must(set >= 0, "open of a dataset");
    }
    move(set, i, i % 2 == 0, write);
    H5Dclose(set);
  }
  must(H5Fclose(file) >= 0, "close");
  H5Pclose(access);
  if (rank == 0) printf("good\n");
  MPI_Finalize();
  return 0;
}
