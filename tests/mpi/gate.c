// Writes checkpoints with plain MPI-IO and tells when each was written: "begin end" in seconds, a line each, to its own log.
// gate FILE LOG CHECKPOINTS BYTES HOLD_MS [WRITES]; of each checkpoint WRITES, with a rest after each.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "%s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 6 && argc != 7) return 2;
  const int writes = argc == 7 ? atoi(argv[6]) : 1;
  int rank;
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int bytes = atoi(argv[4]);
  char* buffer = malloc((size_t)bytes);
  memset(buffer, 'a' + rank, (size_t)bytes);
  const struct timespec hold = {0, atol(argv[5]) * 1000000L};
  for (int i = 0; i < atoi(argv[3]); ++i) {
    MPI_File file;
    check(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), "open");
    const double begin = now();
    for (int j = 0; j < writes; ++j) {
      check(MPI_File_write_at_all(file, (MPI_Offset)rank * bytes, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "write");
      nanosleep(&hold, NULL);
    }
    const double end = now();
    check(MPI_File_close(&file), "close");
    if (rank == 0) {
      FILE* log = fopen(argv[2], "a");
      fprintf(log, "%f %f\n", begin, end);
      fclose(log);
    }
  }
  free(buffer);
  MPI_Finalize();
  return 0;
}
