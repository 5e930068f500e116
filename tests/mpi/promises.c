// What MPI promises about the order of calls, and what programs rely on: one promise for each call of this program.
// usage: promises PROMISE FILE [SECONDS]
// Prints "kept" on rank 0; says what was not, on the rank that saw it, and ends with 1.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 20, kRecord = 1000, kInFlight = 6 };

static int rank, size, broken;
static const char* name;
static double seconds;

#define OK(call) check((call), #call, __LINE__)
static void check(int error, const char* what, int line) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  MPI_Error_string(error, text, &length);
  printf("rank %d line %d: %s: %s\n", rank, line, what, text);
  fflush(stdout);
  broken = 1;
}

#define WANT(condition, ...)                                    \
  do {                                                          \
    if (!(condition)) {                                         \
      printf("rank %d line %d: ", rank, __LINE__);              \
      printf(__VA_ARGS__);                                      \
      printf("\n");                                             \
      fflush(stdout);                                           \
      broken = 1;                                               \
    }                                                           \
  } while (0)

static MPI_File open_new(int mode) {
  MPI_File file = MPI_FILE_NULL;
  if (rank == 0) MPI_File_delete(name, MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  const int error = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | mode, MPI_INFO_NULL, &file);
  OK(error);
  if (error != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
  return file;
}

// A rank that comes late: what depends on who is first shows.
static void dawdle(int round) { usleep((useconds_t)(((rank * 7 + round * 5) % 11) * 300)); }

// Without a call of MPI, as a program that computes.
static void compute(double duration) {
  struct timespec now, begin;
  volatile double sum = 0;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    for (int i = 0; i < 1000; ++i) sum += i;
    usleep(1000);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < duration);
}

// ---- files that are closed in MPI_Finalize ----

static MPI_File late_file;
static char late_text[kRecord];

static int close_late(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  MPI_Status status;
  int count = 0;
  OK(MPI_File_write_at(late_file, (MPI_Offset)rank * kRecord, late_text, kRecord, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  WANT(count == kRecord, "wrote %d bytes in MPI_Finalize", count);
  OK(MPI_File_close(&late_file));
  return MPI_SUCCESS;
}

static void finalize(void) {
  int key = MPI_KEYVAL_INVALID;
  memset(late_text, 'a' + rank, sizeof(late_text));
  late_file = open_new(MPI_MODE_RDWR);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_late, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

// ---- MPI_DISPLACEMENT_CURRENT ----

static void displacement(void) {
  char record[kRecord];
  MPI_File file = open_new(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Offset disp = -1;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    dawdle(round);
    memset(record, round, sizeof(record));
    OK(MPI_File_write_shared(file, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_get_view(file, &disp, &etype, &filetype, datarep));
    const MPI_Offset wanted = (MPI_Offset)(round + 1) * size * kRecord;
    WANT(disp == wanted, "round %d: displacement %lld, not %lld", round, (long long)disp, (long long)wanted);
  }
  OK(MPI_File_close(&file));
}

// ---- collective calls on the shared pointer ----

static void ordered(void) {
  char mine[kRecord];
  char other[kRecord];
  MPI_Request request;
  MPI_File file = open_new(MPI_MODE_RDWR);
  for (int round = 0; round < kRounds; ++round) {
    const MPI_Offset begin = (MPI_Offset)round * size * kRecord;
    memset(other, 'A' + (rank + round) % 26, sizeof(other));
    memset(mine, 'a' + (rank + round) % 26, sizeof(mine));
    OK(MPI_File_seek(file, (MPI_Offset)(kRounds * size + rank) * kRecord, MPI_SEEK_SET));
    OK(MPI_File_iwrite_all(file, other, kRecord, MPI_BYTE, &request));
    dawdle(round);
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_seek_shared(file, begin, MPI_SEEK_SET));
    OK(MPI_File_write_ordered(file, mine, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Offset position = -1;
    OK(MPI_File_get_position_shared(file, &position));
    WANT(position == begin + (MPI_Offset)size * kRecord, "round %d: shared pointer at %lld", round,
         (long long)position);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int each = 0; each < size; ++each) {
      OK(MPI_File_read_at(file, begin + (MPI_Offset)each * kRecord, mine, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
      WANT(mine[0] == 'a' + (each + round) % 26 && memcmp(mine, mine + 1, kRecord - 1) == 0,
           "round %d: the record of rank %d begins with %c", round, each, mine[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  OK(MPI_File_close(&file));
}

// ---- several collective calls in flight, with views between them ----

static void in_flight(void) {
  static int blocks[kInFlight][kRecord];
  static int seen[kRecord];
  MPI_Request requests[kInFlight];
  MPI_File file = open_new(MPI_MODE_RDWR);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kInFlight; ++i) {
      MPI_Datatype type;
      // Interleaved by another block length each time, each in a part of the file of its own.
      const int length = 1 << (i % 4);
      MPI_Type_vector(kRecord / 8 / length, length * 8, length * 8 * size, MPI_INT, &type);
      MPI_Type_commit(&type);
      const MPI_Offset begin =
          ((MPI_Offset)i * size * kRecord + (MPI_Offset)rank * length * 8) * (MPI_Offset)sizeof(int);
      OK(MPI_File_set_view(file, begin, MPI_INT, type, "native", MPI_INFO_NULL));
      MPI_Type_free(&type);
      for (int at = 0; at < kRecord; ++at) blocks[i][at] = ((round * kInFlight + i) * 16 + rank) * 4096 + at;
      OK(MPI_File_iwrite_all(file, blocks[i], kRecord / 8 / length * length * 8, MPI_INT, &requests[i]));
      if (i % 2 == round % 2) dawdle(round + i);
    }
    OK(MPI_Waitall(kInFlight, requests, MPI_STATUSES_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < kInFlight; ++i) {
      const int length = 8 << (i % 4);
      const int count = kRecord / length * length;
      for (int at = 0; at < count; at += length) {
        const MPI_Offset place = (MPI_Offset)i * size * kRecord + (MPI_Offset)at * size + (MPI_Offset)rank * length;
        OK(MPI_File_read_at(file, place, seen, length, MPI_INT, MPI_STATUS_IGNORE));
        WANT(memcmp(seen, &blocks[i][at], (size_t)length * sizeof(int)) == 0, "round %d: block %d of write %d",
             round, at, i);
        if (broken) break;
        at += (round % 7) * length;  // a sample
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  OK(MPI_File_close(&file));
}

// ---- a program that computes while its first transfer is under way ----

enum { kLarge = 600000 };

static void finish(MPI_Request* request, int count, const char* what) {
  MPI_Status status;
  int got = -1;
  compute(seconds);
  OK(MPI_Wait(request, &status));
  MPI_Get_count(&status, MPI_BYTE, &got);
  WANT(got == count, "%s: %d bytes, not %d", what, got, count);
}

static void computing(void) {
  char* mine = malloc(kLarge);
  char* back = malloc(kLarge);
  MPI_Request request;
  memset(mine, 'a' + rank, kLarge);
  const MPI_Offset place = (MPI_Offset)rank * kLarge;
  MPI_File file = open_new(MPI_MODE_RDWR);
  OK(MPI_File_iwrite_at(file, place, mine, kLarge, MPI_BYTE, &request));
  finish(&request, kLarge, "iwrite_at");
  OK(MPI_File_iwrite_at_all(file, (size + rank) * (MPI_Offset)kLarge, mine, kLarge, MPI_BYTE, &request));
  finish(&request, kLarge, "iwrite_at_all");
  OK(MPI_File_iread_at(file, place, back, kLarge, MPI_BYTE, &request));
  finish(&request, kLarge, "iread_at");
  WANT(memcmp(mine, back, kLarge) == 0, "not what was written");
  OK(MPI_File_close(&file));
  free(mine);
  free(back);
}

// The same with a file that is there: nothing has been moved on it before.
static void computing_reader(void) {
  char* back = malloc(kLarge);
  MPI_File file;
  MPI_Request request;
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  OK(MPI_File_iread_at(file, (MPI_Offset)rank * kLarge, back, kLarge, MPI_BYTE, &request));
  finish(&request, kLarge, "iread_at");
  WANT(back[0] == 'a' + rank && back[kLarge - 1] == 'a' + rank, "not what was written");
  OK(MPI_File_close(&file));
  free(back);
}

// In atomic mode a write holds a lock while the program computes.
static void computing_atomic(void) {
  char mine[kRecord];
  MPI_Request request;
  MPI_File file = open_new(MPI_MODE_RDWR);
  OK(MPI_File_set_atomicity(file, 1));
  memset(mine, 'a' + rank, kRecord);
  OK(MPI_File_iwrite_at(file, (MPI_Offset)rank * kRecord, mine, kRecord, MPI_BYTE, &request));
  finish(&request, kRecord, "atomic iwrite_at");
  OK(MPI_File_close(&file));
}

static const struct {
  const char* name;
  void (*run)(void);
} promises[] = {
    {"finalize", finalize},   {"displacement", displacement}, {"ordered", ordered},
    {"in_flight", in_flight}, {"computing", computing},       {"computing_reader", computing_reader},
    {"computing_atomic", computing_atomic},
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  name = argv[2];
  seconds = argc > 3 ? atof(argv[3]) : 0;
  for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); ++i) {
    if (strcmp(promises[i].name, argv[1]) == 0) promises[i].run();
  }
  int any = 0;
  MPI_Allreduce(&broken, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && !any && !broken) printf("kept\n");
  return any || broken;
}
