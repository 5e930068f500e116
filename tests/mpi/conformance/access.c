// Explicit offsets, the individual pointer, positions, the end of the file.
#include <stdio.h>
#include <string.h>

#include "conform.h"

enum { kBlock = 700 };

// Blocks of all ranks, one round behind the other.
static MPI_Offset block_at(int round) { return (MPI_Offset)kBlock * (round * the.size + the.rank); }

static char text[kBlock];
static char back[kBlock];
static MPI_Status status;
static MPI_Request request;

static void prepare(int round) {
  fill(text, sizeof(text), (unsigned)round);
  memset(back, 0, sizeof(back));
  memset(&status, 0, sizeof(status));
}

static void finish(const char* what) {
  say_status(what, &status, MPI_BYTE);
  if (memcmp(text, back, sizeof(text)) != 0) say("FAILED %s: not what was written", what);
}

void case_at(void) {
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  int round = 0;
  prepare(round);
  OK(MPI_File_write_at(file, block_at(round), text, kBlock, MPI_BYTE, &status));
  say_status("write_at", &status, MPI_BYTE);
  OK(MPI_File_read_at(file, block_at(round), back, kBlock, MPI_BYTE, &status));
  finish("read_at");

  prepare(++round);
  OK(MPI_File_write_at_all(file, block_at(round), text, kBlock, MPI_BYTE, &status));
  say_status("write_at_all", &status, MPI_BYTE);
  OK(MPI_File_read_at_all(file, block_at(round), back, kBlock, MPI_BYTE, &status));
  finish("read_at_all");

  prepare(++round);
  OK(MPI_File_iwrite_at(file, block_at(round), text, kBlock, MPI_BYTE, &request));
  OK(MPI_Wait(&request, &status));
  say_status("iwrite_at", &status, MPI_BYTE);
  OK(MPI_File_iread_at(file, block_at(round), back, kBlock, MPI_BYTE, &request));
  OK(MPI_Wait(&request, &status));
  finish("iread_at");

  prepare(++round);
  OK(MPI_File_iwrite_at_all(file, block_at(round), text, kBlock, MPI_BYTE, &request));
  OK(settled(MPI_Wait(&request, &status)));
  say_status("iwrite_at_all", &status, MPI_BYTE);
  OK(MPI_File_iread_at_all(file, block_at(round), back, kBlock, MPI_BYTE, &request));
  OK(MPI_Wait(&request, &status));
  finish("iread_at_all");

  prepare(++round);
  OK(MPI_File_write_at_all_begin(file, block_at(round), text, kBlock, MPI_BYTE));
  OK(MPI_File_write_at_all_end(file, text, &status));
  say_status("write_at_all_end", &status, MPI_BYTE);
  OK(MPI_File_read_at_all_begin(file, block_at(round), back, kBlock, MPI_BYTE));
  OK(MPI_File_read_at_all_end(file, back, &status));
  finish("read_at_all_end");

  // Without a status, and with nothing to move.
  prepare(++round);
  OK(MPI_File_write_at(file, block_at(round), text, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_all(file, block_at(round), back, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
  if (memcmp(text, back, sizeof(text)) != 0) say("FAILED without a status");
  OK(MPI_File_write_at_all(file, block_at(round + 1), text, the.rank == 0 ? 0 : kBlock, MPI_BYTE, &status));
  say_status("all but one", &status, MPI_BYTE);
  OK(MPI_File_write_at(file, 1 << 30, NULL, 0, MPI_BYTE, &status));
  say_status("nothing", &status, MPI_BYTE);
  say_place(file, "explicit offsets move no pointer");
  close_file(&file);
}

void case_individual(void) {
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  int round = 0;
  prepare(round);
  OK(MPI_File_seek(file, block_at(round), MPI_SEEK_SET));
  OK(MPI_File_write(file, text, kBlock, MPI_BYTE, &status));
  say_status("write", &status, MPI_BYTE);
  say_place(file, "write");
  OK(MPI_File_seek(file, -kBlock, MPI_SEEK_CUR));
  OK(MPI_File_read(file, back, kBlock, MPI_BYTE, &status));
  finish("read");

  prepare(++round);
  OK(MPI_File_seek(file, block_at(round), MPI_SEEK_SET));
  OK(MPI_File_write_all(file, text, kBlock, MPI_BYTE, &status));
  say_status("write_all", &status, MPI_BYTE);
  say_place(file, "write_all");
  OK(MPI_File_seek(file, -kBlock, MPI_SEEK_CUR));
  OK(MPI_File_read_all(file, back, kBlock, MPI_BYTE, &status));
  finish("read_all");

  prepare(++round);
  OK(MPI_File_seek(file, block_at(round), MPI_SEEK_SET));
  OK(MPI_File_iwrite(file, text, kBlock, MPI_BYTE, &request));
  say_place(file, "iwrite");  // moved by the call, not by its end
  OK(MPI_Wait(&request, &status));
  say_status("iwrite", &status, MPI_BYTE);
  OK(MPI_File_seek(file, -kBlock, MPI_SEEK_CUR));
  OK(MPI_File_iread(file, back, kBlock, MPI_BYTE, &request));
  OK(MPI_Wait(&request, &status));
  finish("iread");

  prepare(++round);
  OK(MPI_File_seek(file, block_at(round), MPI_SEEK_SET));
  OK(MPI_File_iwrite_all(file, text, kBlock, MPI_BYTE, &request));
  OK(settled(MPI_Wait(&request, &status)));
  say_status("iwrite_all", &status, MPI_BYTE);
  say_place(file, "iwrite_all");
  OK(MPI_File_seek(file, -kBlock, MPI_SEEK_CUR));
  OK(MPI_File_iread_all(file, back, kBlock, MPI_BYTE, &request));
  OK(MPI_Wait(&request, &status));
  finish("iread_all");

  prepare(++round);
  OK(MPI_File_seek(file, block_at(round), MPI_SEEK_SET));
  OK(MPI_File_write_all_begin(file, text, kBlock, MPI_BYTE));
  OK(MPI_File_write_all_end(file, text, &status));
  say_status("write_all_end", &status, MPI_BYTE);
  say_place(file, "write_all_end");
  OK(MPI_File_seek(file, -kBlock, MPI_SEEK_CUR));
  OK(MPI_File_read_all_begin(file, back, kBlock, MPI_BYTE));
  OK(MPI_File_read_all_end(file, back, &status));
  finish("read_all_end");
  close_file(&file);
}

void case_position(void) {
  MPI_Datatype type;
  int numbers[40];
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  OK(MPI_File_set_size(file, 40 + 52 * 7 * the.size));  // ROMIO writes rubbish into holes past the end
  OK(MPI_Type_vector(3, 2, 5, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  MPI_Datatype wide = interleave(type);
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  OK(MPI_Type_get_extent(type, &low, &extent));
  OK(MPI_File_set_view(file, 40 + extent * the.rank, MPI_INT, wide, "native", MPI_INFO_NULL));
  say_place(file, "after set_view");
  fill(numbers, sizeof(numbers), 1);
  OK(MPI_File_write_all(file, numbers, 40, MPI_INT, &status));
  for (MPI_Offset offset = 0; offset <= 42; offset += 7) {
    OK(MPI_File_seek(file, offset, MPI_SEEK_SET));
    say_place(file, "seek");
  }
  OK(MPI_File_seek(file, -20, MPI_SEEK_CUR));
  say_place(file, "back by 20");
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
  OK(MPI_File_read(file, numbers, 13, MPI_INT, &status));
  say_place(file, "after 13");
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  say_place(file, "bytes again");
  OK(MPI_File_seek(file, -10, MPI_SEEK_END));
  say_place(file, "end of bytes");
  OK(MPI_File_seek(file, 5, MPI_SEEK_END));
  say_place(file, "past the end");
  OK(MPI_Type_free(&wide));
  OK(MPI_Type_free(&type));
  close_file(&file);
}

void case_end_of_file(void) {
  int numbers[100];
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  fill(numbers, sizeof(numbers), 1);
  if (the.rank == 0) OK(MPI_File_write_at(file, 1000, numbers, 50, MPI_INT, &status));
  OK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_sync(file));
  memset(numbers, 1, sizeof(numbers));
  OK(MPI_File_read_at(file, 1100, numbers, 100, MPI_INT, &status));
  say_status("across the end", &status, MPI_INT);
  say_bytes("across the end", numbers, 100);
  OK(MPI_File_read_at_all(file, 1000 + 40 * the.rank, numbers, 30, MPI_INT, &status));
  const int left = 50 - 10 * the.rank;  // both libraries' own count what was asked for
  expect_count("collectively", &status, MPI_INT, left < 0 ? 0 : left < 30 ? left : 30);
  OK(MPI_File_read_at(file, 5000, numbers, 100, MPI_INT, &status));
  say_status("past the end", &status, MPI_INT);
  OK(MPI_File_read_at(file, 900, numbers, 100, MPI_INT, &status));
  say_status("over the hole", &status, MPI_INT);
  say_bytes("over the hole", numbers, 300);
  OK(MPI_File_seek(file, 1150, MPI_SEEK_SET));
  OK(MPI_File_read(file, numbers, 100, MPI_BYTE, &status));
  say_status("by the pointer", &status, MPI_BYTE);
  // Through a view whose last block the end cuts.
  MPI_Datatype type;
  OK(MPI_Type_vector(1, 4, 8, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  MPI_Datatype wide;
  OK(MPI_Type_create_resized(type, 0, 32, &wide));
  OK(MPI_Type_commit(&wide));
  OK(MPI_File_set_view(file, 1000, MPI_INT, wide, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at(file, 10, numbers, 40, MPI_INT, &status));
  expect_count("through a view", &status, MPI_INT, 16);
  OK(MPI_File_read_at_all(file, 20, numbers, 40, MPI_INT, &status));
  expect_count("through a view, all", &status, MPI_INT, 6);
  OK(MPI_Type_free(&type));
  OK(MPI_Type_free(&wide));
  close_file(&file);
}
