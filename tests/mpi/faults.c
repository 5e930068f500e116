// Collective writes while something dies.
// usage: faults FILE ROUNDS [VICTIM]   VICTIM is the rank that kills itself half way
// Prints "round N" as it goes, and for an error "rank R round N class NAME"; ends with 0 after an error, too.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBytes = 3240, kBlocks = 100 };

static const char* name_of(int error) {
  int class_ = 0;
  MPI_Error_class(error, &class_);
  return class_ == MPI_ERR_IO ? "MPI_ERR_IO" : class_ == MPI_ERR_OTHER ? "MPI_ERR_OTHER" : "another";
}

int main(int argc, char** argv) {
  int rank = 0;
  int size = 0;
  MPI_File file;
  MPI_Status status;
  MPI_Datatype type;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const int rounds = atoi(argv[2]);
  const int victim = argc > 3 ? atoi(argv[3]) : -1;
  const int count = kBytes * kBlocks;
  char* data = malloc((size_t)count);
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
      MPI_SUCCESS) {
    printf("rank %d cannot open\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Type_vector(kBlocks, kBytes, kBytes * size, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_File_set_view(file, (MPI_Offset)rank * kBytes, MPI_BYTE, type, "native", MPI_INFO_NULL);
  for (int round = 0; round < rounds; ++round) {
    memset(data, 'a' + (round + rank) % 26, (size_t)count);
    if (rank == victim && round == rounds / 2) raise(SIGKILL);
    const int error = MPI_File_write_at_all(file, 0, data, count, MPI_BYTE, &status);
    if (error != MPI_SUCCESS) {
      char text[MPI_MAX_ERROR_STRING + 1] = "";
      int length = 0;
      MPI_Error_string(error, text, &length);
      printf("rank %d round %d class %s: %s\n", rank, round, name_of(error), text);
      fflush(stdout);
      break;
    }
    if (rank == 0) {
      printf("round %d\n", round);
      fflush(stdout);
    }
  }
  MPI_File_close(&file);
  MPI_Type_free(&type);
  free(data);
  MPI_Finalize();
  return 0;
}
