// Opening, closing, deleting, sizes, communicators, hints.
#include <stdio.h>
#include <stdlib.h>

#include "conform.h"

void case_modes(void) {
  char text[64];
  MPI_Status status;
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR);
  int mode = 0;
  OK(MPI_File_get_amode(file, &mode));
  say("mode %d", mode == (MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR));
  fill(text, sizeof(text), 1);
  OK(MPI_File_write_at(file, the.rank * 64, text, 64, MPI_BYTE, &status));
  close_file(&file);

  file = open_file("file", MPI_MODE_RDONLY);
  OK(MPI_File_get_amode(file, &mode));
  say("mode %d", mode == MPI_MODE_RDONLY);
  OK(MPI_File_read_at_all(file, (the.size - 1 - the.rank) * 64, text, 64, MPI_BYTE, &status));
  say_bytes("another's", text, 64);
  close_file(&file);

  file = open_file("file", MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN);
  fill(text, sizeof(text), 2);
  OK(MPI_File_write_at_all(file, (the.size + the.rank) * 64, text, 64, MPI_BYTE, &status));
  close_file(&file);

  file = open_file("file", MPI_MODE_WRONLY | MPI_MODE_APPEND);
  say_place(file, "append");
  OK(MPI_File_write_at_all(file, (2 * the.size + the.rank) * 64, text, 64, MPI_BYTE, &status));
  close_file(&file);

  file = open_file("gone", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE);
  OK(MPI_File_write_at(file, the.rank, text, 1, MPI_BYTE, &status));
  close_file(&file);
  expect_class("deleted on close",
               MPI_File_open(MPI_COMM_WORLD, path("gone"), MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
               MPI_ERR_NO_SUCH_FILE);

  file = open_file("other", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  close_file(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (the.rank == 0) OK(MPI_File_delete(path("other"), MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  expect_class("deleted", MPI_File_open(MPI_COMM_WORLD, path("other"), MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
               MPI_ERR_NO_SUCH_FILE);
}

static void say_size(MPI_File file, const char* what) {
  MPI_Offset size = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_get_size(file, &size));
  MPI_Barrier(MPI_COMM_WORLD);
  say("%s: size %lld", what, (long long)size);
}

void case_size(void) {
  char text[1000];
  char back[4096];
  MPI_Status status;
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  say_size(file, "new");
  OK(MPI_File_set_size(file, 3000000));
  say_size(file, "grown");
  OK(MPI_File_preallocate(file, 1000000));
  say_size(file, "preallocated below the end");
  MPI_Barrier(MPI_COMM_WORLD);
  // Open MPI's own makes it as long as the sum of both.
  OK(the.reference ? MPI_File_set_size(file, 3500000) : MPI_File_preallocate(file, 3500000));
  say_size(file, "preallocated past the end");
  fill(text, sizeof(text), 1);
  OK(MPI_File_write_at_all(file, 2999500 + 1000 * the.rank, text, 1000, MPI_BYTE, &status));
  OK(MPI_File_set_size(file, 2999600));
  say_size(file, "cut");
  OK(MPI_File_set_size(file, 3000100));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_read_at(file, 2999000, back, 4096, MPI_BYTE, &status));
  say_status("what was cut off", &status, MPI_BYTE);
  say_bytes("is zeros", back, 1100);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_set_size(file, 0));
  say_size(file, "empty");
  OK(MPI_File_set_size(file, 100));
  close_file(&file);
}

void case_communicators(void) {
  char text[500];
  MPI_Status status;
  MPI_File file;
  MPI_File own;
  MPI_Group group;
  int members = 0;
  char name[32];
  // One file for each process.
  snprintf(name, sizeof(name), "self%d", the.rank);
  OK(MPI_File_open(MPI_COMM_SELF, path(name), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &own));
  fill(text, sizeof(text), 1);
  OK(MPI_File_write(own, text, 500, MPI_BYTE, &status));
  OK(MPI_File_write_all(own, text, 100 + the.rank, MPI_BYTE, &status));
  // And, while that is open, one for each half.
  MPI_Comm half;
  OK(MPI_Comm_split(MPI_COMM_WORLD, the.rank % 2, -the.rank, &half));
  snprintf(name, sizeof(name), "half%d", the.rank % 2);
  OK(MPI_File_open(half, path(name), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  int place = 0;
  MPI_Comm_rank(half, &place);
  OK(MPI_File_write_at_all(file, place * 500, text, 500, MPI_BYTE, &status));
  OK(MPI_File_get_group(file, &group));
  MPI_Group_size(group, &members);
  MPI_Group_free(&group);
  say("half has %d", members);
  OK(MPI_Comm_free(&half));  // the file keeps working
  OK(MPI_File_write_at_all(file, (members + place) * 500, text, 500, MPI_BYTE, &status));
  OK(MPI_File_get_group(own, &group));
  MPI_Group_size(group, &members);
  MPI_Group_free(&group);
  say("self has %d", members);
  close_file(&own);
  close_file(&file);
}

void case_hints(void) {
  MPI_Info info;
  MPI_File file;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "striping_unit", "131072"));
  OK(MPI_Info_set(info, "striping_factor", "2"));
  OK(MPI_Info_set(info, "start_iodevice", "1"));
  OK(MPI_Info_set(info, "cb_buffer_size", "65536"));
  OK(MPI_Info_set(info, "cb_nodes", "1"));
  OK(MPI_Info_set(info, "romio_cb_write", "enable"));
  OK(MPI_Info_set(info, "romio_ds_write", "disable"));
  OK(MPI_Info_set(info, "ind_rd_buffer_size", "32768"));
  OK(MPI_Info_set(info, "nobody_knows_this", "1"));
  OK(MPI_File_open(MPI_COMM_WORLD, path("file"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
  OK(MPI_Info_free(&info));
  expect_hint(file, "striping_unit", "131072");
  expect_hint(file, "striping_factor", "2");
  expect_hint(file, "start_iodevice", "1");
  expect_hint(file, "cb_buffer_size", "65536");
  expect_hint(file, "cb_nodes", "1");
  expect_hint(file, "romio_cb_write", "enable");
  expect_hint(file, "romio_ds_write", "disable");
  expect_hint(file, "ind_rd_buffer_size", "32768");
  // Collective writes work with one aggregator and a small buffer.
  const int count = 100000;
  int* numbers = malloc((size_t)count * sizeof(int));
  fill(numbers, (size_t)count * sizeof(int), 1);
  MPI_Datatype type;
  MPI_Status status;
  OK(MPI_Type_vector(1000, 100, 100 * the.size, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_File_set_view(file, the.rank * 400, MPI_INT, type, "native", MPI_INFO_NULL));
  OK(MPI_File_write_all(file, numbers, count, MPI_INT, &status));
  say_status("write", &status, MPI_INT);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "romio_cb_write", "disable"));
  OK(MPI_Info_set(info, "romio_cb_read", "disable"));
  OK(MPI_File_set_info(file, info));
  OK(MPI_Info_free(&info));
  expect_hint(file, "romio_cb_write", "disable");
  OK(MPI_File_write_at_all(file, count, numbers, count, MPI_INT, &status));
  OK(MPI_File_read_at_all(file, 12345, numbers, count, MPI_INT, &status));
  say_bytes("read", numbers, (size_t)count * sizeof(int));
  OK(MPI_Type_free(&type));
  free(numbers);
  close_file(&file);
}
