// Every constructor as file type and as memory type, distributed arrays, views, MPI_BOTTOM, external32.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "types.h"

enum { kRegion = 1 << 17, kTimes = 11 };

static MPI_Status status;

static int size_of(MPI_Datatype type) {
  int size = 0;
  OK(MPI_Type_size(type, &size));
  return size;
}

static MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  OK(MPI_Type_get_extent(type, &low, &extent));
  return extent;
}

// Past the end of the file, ROMIO writes what it finds in its buffers into the holes.
static MPI_File open_with_zeros(MPI_Offset size) {
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_size(file, size));
  MPI_Barrier(MPI_COMM_WORLD);
  return file;
}

void case_file_types(void) {
  MPI_File file = open_with_zeros(maker_count * kRegion);
  for (int i = 0; i < maker_count; ++i) {
    MPI_Datatype type = makers[i].make();
    MPI_Datatype wide = interleave(type);
    const int numbers = kTimes * size_of(type) / (int)sizeof(int) + 3;  // ends within a block
    int* data = malloc((size_t)numbers * sizeof(int));
    int* back = calloc((size_t)numbers, sizeof(int));
    int* expected = calloc((size_t)numbers + 2, sizeof(int));
    fill(data, (size_t)numbers * sizeof(int), (unsigned)i);
    memcpy(expected + 2, data, (size_t)numbers * sizeof(int));
    OK(MPI_File_set_view(file, (MPI_Offset)i * kRegion + the.rank * extent_of(type), MPI_INT, wide, "native",
                         MPI_INFO_NULL));
    MPI_Aint extent = 0;
    OK(MPI_File_get_type_extent(file, wide, &extent));
    say("%s: extent %lld", makers[i].name, (long long)extent);
    OK(MPI_File_write_at_all(file, 2, data, numbers, MPI_INT, &status));
    say_status(makers[i].name, &status, MPI_INT);
    MPI_Barrier(MPI_COMM_WORLD);  // in Open MPI's own, others may still be writing for this rank
    OK(MPI_File_read_at(file, 2, back, numbers, MPI_INT, &status));
    if (memcmp(data, back, (size_t)numbers * sizeof(int)) != 0)
      say("FAILED %s: independent read", makers[i].name);
    // Independently over a part of it, and back together.
    fill(data, (size_t)numbers * sizeof(int), 100U + (unsigned)i);
    memcpy(expected + 5, data, (size_t)(numbers / 2) * sizeof(int));
    OK(MPI_File_write_at(file, 5, data, numbers / 2, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_read_at_all(file, 0, back, numbers, MPI_INT, &status));
    say_status(makers[i].name, &status, MPI_INT);
    if (memcmp(expected, back, (size_t)numbers * sizeof(int)) != 0)
      say("FAILED %s: collective read", makers[i].name);
    free(data);
    free(back);
    free(expected);
    OK(MPI_Type_free(&wide));
    OK(MPI_Type_free(&type));
  }
  close_file(&file);
}

void case_memory_types(void) {
  MPI_File file = open_with_zeros(2 * maker_count * kRegion);
  MPI_Datatype blocks;
  OK(MPI_Type_vector(1, 5, 5, MPI_INT, &blocks));
  MPI_Datatype wide = interleave(blocks);
  for (int i = 0; i < maker_count; ++i) {
    MPI_Datatype type = makers[i].make();
    const size_t room = (size_t)kTimes * (size_t)extent_of(type) + 64;
    char* data = malloc(room);
    char* back = calloc(room, 1);
    fill(data, room, (unsigned)i);
    const int size = kTimes * size_of(type);
    // A contiguous file.
    OK(MPI_File_set_view(file, (MPI_Offset)i * 2 * kRegion, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_write_at_all(file, the.rank * size, data, kTimes, type, &status));
    say_status(makers[i].name, &status, type);
    OK(MPI_File_read_at(file, the.rank * size, back, kTimes, type, &status));
    say_bytes(makers[i].name, back, room);
    // Holes in both.
    OK(MPI_File_set_view(file, (MPI_Offset)(i * 2 + 1) * kRegion + the.rank * 20, MPI_INT, wide, "native",
                         MPI_INFO_NULL));
    OK(MPI_File_write_at(file, 1, data, kTimes, type, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    memset(back, 1, room);
    OK(MPI_File_read_at_all(file, 1, back, kTimes, type, &status));
    say_status(makers[i].name, &status, type);
    say_bytes(makers[i].name, back, room);
    free(data);
    free(back);
    OK(MPI_Type_free(&type));
  }
  OK(MPI_Type_free(&wide));
  OK(MPI_Type_free(&blocks));
  close_file(&file);
}

void case_distributed(void) {
  // The ranks share one array, in blocks and in cycles.
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  int grid[] = {0, 0};
  OK(MPI_Dims_create(the.size, 2, grid));
  const int sizes[] = {37, 53};
  for (int kind = 0; kind < 4; ++kind) {
    const int cyclic = kind % 2;
    const int kinds[] = {cyclic ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int arguments[] = {cyclic ? 3 : MPI_DISTRIBUTE_DFLT_DARG, 4};
    MPI_Datatype type;
    OK(MPI_Type_create_darray(the.size, the.rank, 2, sizes, kinds, arguments, grid,
                              kind < 2 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, MPI_DOUBLE, &type));
    OK(MPI_Type_commit(&type));
    const int count = size_of(type) / (int)sizeof(double);
    double* data = malloc(((size_t)count + 1) * sizeof(double));
    double* back = calloc((size_t)count + 1, sizeof(double));
    fill(data, (size_t)count * sizeof(double), (unsigned)kind);
    OK(MPI_File_set_view(file, (MPI_Offset)kind * kRegion, MPI_DOUBLE, type, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(file, data, count, MPI_DOUBLE, &status));
    say_status("write", &status, MPI_DOUBLE);
    say_place(file, "write");
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_read_all(file, back, count, MPI_DOUBLE, &status));
    say_status("read", &status, MPI_DOUBLE);
    if (memcmp(data, back, (size_t)count * sizeof(double)) != 0) say("FAILED: not what was written");
    free(data);
    free(back);
    OK(MPI_Type_free(&type));
  }
  close_file(&file);
}

void case_views(void) {
  char representation[MPI_MAX_DATAREP_STRING + 1] = "";
  MPI_Offset displacement = -1;
  MPI_Datatype etype;
  MPI_Datatype filetype;
  int combiner = 0;
  int counts[3];
  MPI_File file = open_with_zeros(kRegion * 12);
  OK(MPI_File_get_view(file, &displacement, &etype, &filetype, representation));
  say("default view: %lld %d %d %s", (long long)displacement, etype == MPI_BYTE, filetype == MPI_BYTE,
      representation);
  MPI_Datatype type = makers[1].make();
  OK(MPI_File_set_view(file, 123 * sizeof(int), MPI_INT, type, "native", MPI_INFO_NULL));
  OK(MPI_File_get_view(file, &displacement, &etype, &filetype, representation));
  OK(MPI_Type_get_envelope(filetype, &counts[0], &counts[1], &counts[2], &combiner));
  say("view: %lld %d %d %s", (long long)displacement, etype == MPI_INT, size_of(filetype), representation);
  if (combiner != MPI_COMBINER_NAMED) OK(MPI_Type_free(&filetype));
  OK(MPI_Type_free(&type));  // the view keeps it
  int numbers[30];
  fill(numbers, sizeof(numbers), 1);
  if (the.rank == 0) OK(MPI_File_write(file, numbers, 30, MPI_INT, &status));
  MPI_Barrier(MPI_COMM_WORLD);
  // Views may differ between ranks, also in their type.
  type = makers[(the.rank * 5 + 3) % maker_count].make();
  OK(MPI_File_set_view(file, kRegion * (the.rank + 1), MPI_INT, type, "native", MPI_INFO_NULL));
  OK(MPI_File_write_all(file, numbers, 30, MPI_INT, &status));
  OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
  memset(numbers, 0, sizeof(numbers));
  OK(MPI_File_read_all(file, numbers, 30, MPI_INT, &status));
  say_bytes("views of their own", numbers, sizeof(numbers));
  OK(MPI_Type_free(&type));
  // Appending through a view.
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_seek(file, 10 + 120 * the.rank, MPI_SEEK_END));
  say_place(file, "end");
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_write_all(file, numbers, 30, MPI_INT, &status));
  close_file(&file);
}

void case_bottom(void) {
  // Absolute addresses, out of order, with different types in one.
  int numbers[8];
  double reals[4];
  char text[13];
  fill(numbers, sizeof(numbers), 1);
  fill(reals, sizeof(reals), 2);
  fill(text, sizeof(text), 3);
  MPI_Aint places[3];
  OK(MPI_Get_address(reals, &places[0]));
  OK(MPI_Get_address(text, &places[1]));
  OK(MPI_Get_address(numbers, &places[2]));
  const int lengths[] = {4, 13, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR, MPI_INT};
  MPI_Datatype type;
  OK(MPI_Type_create_struct(3, lengths, places, types, &type));
  OK(MPI_Type_commit(&type));
  const int size = size_of(type);
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_write_at_all(file, the.rank * size, MPI_BOTTOM, 1, type, &status));
  say_status("write", &status, type);
  memset(numbers, 0, sizeof(numbers));
  memset(reals, 0, sizeof(reals));
  memset(text, 0, sizeof(text));
  OK(MPI_File_read_at(file, the.rank * size, MPI_BOTTOM, 1, type, &status));
  say_bytes("numbers", numbers, sizeof(numbers));
  say_bytes("reals", reals, sizeof(reals));
  say_bytes("text", text, sizeof(text));
  OK(MPI_Type_free(&type));
  // Negative displacements.
  MPI_Datatype back;
  const MPI_Aint negative[] = {-8, -24, 0};
  const int two[] = {2, 2, 1};
  OK(MPI_Type_create_hindexed(3, two, negative, MPI_INT, &back));
  OK(MPI_Type_commit(&back));
  OK(MPI_File_write_at_all(file, 4096 + the.rank * 20, &numbers[7], 1, back, &status));
  say_status("negative", &status, back);
  memset(numbers, 0, sizeof(numbers));
  OK(MPI_File_read_at_all(file, 4096 + the.rank * 20, &numbers[7], 1, back, &status));
  say_bytes("negative", numbers, sizeof(numbers));
  OK(MPI_Type_free(&back));
  close_file(&file);
}
