// The shared pointer and ordered access. Which rank comes first with the shared pointer is chance: records are the
// same length, and what is said of them is sorted.
#include <stdlib.h>
#include <string.h>

#include "conform.h"

enum { kRecord = 100, kRounds = 3 };

static MPI_Offset shared_position(MPI_File file) {
  MPI_Offset position = -1;
  OK(MPI_File_get_position_shared(file, &position));
  return position;
}

static int compare(const void* a, const void* b) { return memcmp(a, b, kRecord); }

static void say_records(MPI_File file, const char* what, int count) {
  char* records = calloc((size_t)count, kRecord);
  MPI_Status status;
  OK(MPI_File_read_at(file, 0, records, count * kRecord, MPI_BYTE, &status));
  qsort(records, (size_t)count, kRecord, compare);
  say_bytes(what, records, (size_t)count * kRecord);
  free(records);
}

static void settle(MPI_File file) {
  OK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_sync(file));
}

void case_shared(void) {
  char record[kRecord];
  MPI_Status status;
  MPI_Request request;
  MPI_File file = open_file("scratch", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  for (int round = 0; round < kRounds; ++round) {
    fill(record, kRecord, (unsigned)round);
    OK(MPI_File_write_shared(file, record, kRecord, MPI_BYTE, &status));
    say_status("write_shared", &status, MPI_BYTE);
  }
  settle(file);
  say("position %lld", (long long)shared_position(file));
  say_records(file, "write_shared", the.size * kRounds);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  fill(record, kRecord, 50);
  OK(MPI_File_iwrite_shared(file, record, kRecord, MPI_BYTE, &request));
  OK(MPI_Wait(&request, &status));
  say_status("iwrite_shared", &status, MPI_BYTE);
  settle(file);
  say_records(file, "iwrite_shared", the.size);
  MPI_Barrier(MPI_COMM_WORLD);

  // Every record is read once.
  OK(MPI_File_seek_shared(file, -the.size * kRecord, MPI_SEEK_CUR));
  say("position %lld", (long long)shared_position(file));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_read_shared(file, record, kRecord, MPI_BYTE, &status));
  say_status("read_shared", &status, MPI_BYTE);
  char* all = malloc((size_t)the.size * kRecord);
  MPI_Allgather(record, kRecord, MPI_BYTE, all, kRecord, MPI_BYTE, MPI_COMM_WORLD);
  qsort(all, (size_t)the.size, kRecord, compare);
  say_bytes("read_shared", all, (size_t)the.size * kRecord);
  OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_iread_shared(file, record, kRecord, MPI_BYTE, &request));
  OK(MPI_Wait(&request, &status));
  MPI_Allgather(record, kRecord, MPI_BYTE, all, kRecord, MPI_BYTE, MPI_COMM_WORLD);
  qsort(all, (size_t)the.size, kRecord, compare);
  say_bytes("iread_shared", all, (size_t)the.size * kRecord);
  free(all);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_seek_shared(file, 10, MPI_SEEK_END));
  say("position %lld", (long long)shared_position(file));
  say_place(file, "the individual pointer stays");
  close_file(&file);
}

void case_ordered(void) {
  char record[kRecord * 2];
  char back[kRecord * 2];
  MPI_Status status;
  // Of different lengths, and counted in elements of the view.
  const int count = 10 + the.rank % 3;
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_view(file, 24, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  fill(record, sizeof(record), 1);
  OK(MPI_File_write_ordered(file, record, count, MPI_INT, &status));
  say_status("write_ordered", &status, MPI_INT);
  MPI_Barrier(MPI_COMM_WORLD);
  say("position %lld", (long long)shared_position(file));
  MPI_Barrier(MPI_COMM_WORLD);
  fill(record, sizeof(record), 2);
  OK(MPI_File_write_ordered_begin(file, record, count, MPI_INT));
  OK(MPI_File_write_ordered_end(file, record, &status));
  say_status("write_ordered_end", &status, MPI_INT);
  MPI_Barrier(MPI_COMM_WORLD);
  say("position %lld", (long long)shared_position(file));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  OK(MPI_File_read_ordered(file, back, count, MPI_INT, &status));
  say_status("read_ordered", &status, MPI_INT);
  say_bytes("read_ordered", back, (size_t)count * sizeof(int));
  OK(MPI_File_read_ordered_begin(file, back, count, MPI_INT));
  OK(MPI_File_read_ordered_end(file, back, &status));
  say_status("read_ordered_end", &status, MPI_INT);
  if (memcmp(record, back, (size_t)count * sizeof(int)) != 0) say("FAILED: not what was written");
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_read_ordered(file, back, count, MPI_INT, &status));
  expect_count("at the end", &status, MPI_INT, 0);
  close_file(&file);
}
