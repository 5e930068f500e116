// Several threads of every rank use files at once: one file together, and each thread one of its own with its fellows.
// usage: threads FILE ROUNDS
// Prints "good" on rank 0; says what was not, and ends with 1.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 4, kBytes = 3000 };

static int rank, size, rounds;
static const char* name;
static MPI_File together;
static MPI_Comm comms[kThreads];

static void wrong(int thread, const char* what) {
  printf("rank %d thread %d: %s\n", rank, thread, what);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Independent and non-blocking calls on the file of all threads.
static void use_together(int thread, int round) {
  char mine[kBytes], back[kBytes];
  MPI_Request requests[2];
  const MPI_Offset place = (MPI_Offset)(rank * kThreads + thread) * 2 * kBytes;
  memset(mine, 'a' + (round + thread) % 26, kBytes);
  MPI_File_iwrite_at(together, place, mine, kBytes, MPI_BYTE, &requests[0]);
  MPI_File_iwrite_at(together, place + kBytes, mine, kBytes, MPI_BYTE, &requests[1]);
  if (MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) != MPI_SUCCESS) wrong(thread, "iwrite_at");
  if (MPI_File_read_at(together, place + kBytes, back, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    wrong(thread, "read_at");
  if (memcmp(mine, back, kBytes) != 0) wrong(thread, "not what was written");
}

// Collective calls with the same thread of the other ranks.
static void use_alone(int thread, int round) {
  char own[4096], mine[kBytes], back[kBytes];
  MPI_File file;
  snprintf(own, sizeof(own), "%s-%d", name, thread);
  if (MPI_File_open(comms[thread], own, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
    wrong(thread, "open");
  memset(mine, 'A' + (round + rank) % 26, kBytes);
  if (MPI_File_write_at_all(file, (MPI_Offset)rank * kBytes, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    wrong(thread, "write_at_all");
  const int other = (rank + 1) % size;
  memset(mine, 'A' + (round + other) % 26, kBytes);
  if (MPI_File_read_at_all(file, (MPI_Offset)other * kBytes, back, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    wrong(thread, "read_at_all");
  if (memcmp(mine, back, kBytes) != 0) wrong(thread, "not what the other wrote");
  if (MPI_File_close(&file) != MPI_SUCCESS) wrong(thread, "close");
}

static void* work(void* argument) {
  const int thread = *(int*)argument;
  for (int round = 0; round < rounds; ++round) {
    use_together(thread, round);
    use_alone(thread, round);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0;
  int numbers[kThreads];
  pthread_t threads[kThreads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3 || provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 2);
  name = argv[1];
  rounds = atoi(argv[2]);
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &together) != MPI_SUCCESS)
    wrong(-1, "open");
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, work, &numbers[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  if (MPI_File_close(&together) != MPI_SUCCESS) wrong(-1, "close");
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comms[i]);
  if (rank == 0) printf("good\n");
  MPI_Finalize();
  return 0;
}
