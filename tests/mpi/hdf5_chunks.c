// Filtered chunks written collectively while metadata are written by each process for itself, and read back.
// usage: hdf5_chunks FILE CHUNKS ROUNDS
// Prints "good" on rank 0; says what was not, and ends with 1.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 4, kColumns = 64 };

static int rank, size;

#define MUST(call)                                                        \
  do {                                                                    \
    if ((call) < 0) {                                                     \
      printf("rank %d line %d: %s failed\n", rank, __LINE__, #call);      \
      fflush(stdout);                                                     \
      MPI_Abort(MPI_COMM_WORLD, 1);                                       \
    }                                                                     \
  } while (0)

static long long value(int round, hsize_t i) { return (long long)i * 1000003 + rank * 7919 + round; }

// One data set: each rank has rows of its own, many chunks of them.
static void one(hid_t file, hid_t space, hid_t memory, hid_t properties, hid_t transfer, int round, hsize_t count) {
  char name[32];
  long long* data = malloc(count * sizeof(*data));
  snprintf(name, sizeof(name), "set%d", round);
  const hid_t set = H5Dcreate2(file, name, H5T_NATIVE_LLONG, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  MUST(set);
  for (hsize_t i = 0; i < count; ++i) data[i] = value(round, i);
  MUST(H5Dwrite(set, H5T_NATIVE_LLONG, memory, space, transfer, data));
  MUST(H5Fflush(file, H5F_SCOPE_GLOBAL));
  for (hsize_t i = 0; i < count; ++i) data[i] = -1;
  MUST(H5Dread(set, H5T_NATIVE_LLONG, memory, space, transfer, data));
  for (hsize_t i = 0; i < count; ++i) {
    if (data[i] == value(round, i)) continue;
    printf("rank %d round %d: element %llu is %lld, not %lld\n", rank, round, (unsigned long long)i, data[i],
           value(round, i));
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MUST(H5Dclose(set));
  free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const hsize_t columns = (hsize_t)atoi(argv[2]) * kColumns;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  MUST(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  MUST(H5Pset_all_coll_metadata_ops(access, 0));
  MUST(H5Pset_coll_metadata_write(access, 0));
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  MUST(file);
  const hsize_t sizes[2] = {(hsize_t)size * kRows, columns};
  const hsize_t chunk[2] = {kRows, kColumns};
  const hsize_t begin[2] = {(hsize_t)rank * kRows, 0};
  const hsize_t mine[2] = {kRows, columns};
  const hid_t space = H5Screate_simple(2, sizes, NULL);
  const hid_t memory = H5Screate_simple(2, mine, NULL);
  MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, NULL, mine, NULL));
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  MUST(H5Pset_chunk(properties, 2, chunk));
  MUST(H5Pset_shuffle(properties));
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  MUST(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
  for (int round = 0; round < atoi(argv[3]); ++round)
    one(file, space, memory, properties, transfer, round, kRows * columns);
  MUST(H5Pclose(transfer));
  MUST(H5Pclose(properties));
  MUST(H5Sclose(memory));
  MUST(H5Sclose(space));
  MUST(H5Pclose(access));
  MUST(H5Fclose(file));
  if (rank == 0) printf("good\n");
  MPI_Finalize();
  return 0;
}
