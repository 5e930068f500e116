// Atomic mode and consistency after sync, barrier, sync.
#include <stdlib.h>
#include <string.h>

#include "conform.h"

enum { kBlocks = 8, kBlock = 40000, kRounds = 4 };

// All ranks write the whole region at once: afterwards it must be from one of them.
static void overlap(MPI_File file, int strided) {
  const int count = kBlocks * kBlock;
  char* mine = malloc((size_t)count);
  char* seen = malloc((size_t)count);
  MPI_Status status;
  for (int round = 0; round < kRounds; ++round) {
    memset(mine, round * 16 + the.rank + 1, (size_t)count);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_write_at(file, 0, mine, count, MPI_BYTE, &status));
    OK(MPI_File_read_at(file, 0, seen, count, MPI_BYTE, &status));
    for (int i = 1; i < count; ++i) {
      if (seen[i] == seen[0] || the.reference) continue;  // Open MPI's own are not
      say("FAILED: byte %d is from %d, byte 0 from %d", i, seen[i], seen[0]);
      break;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_read_at_all(file, 0, seen, count, MPI_BYTE, &status));
    char first = seen[0];
    MPI_Bcast(&first, 1, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (seen[count - 1] != first && !the.reference) say("FAILED: ranks see different winners");
  }
  say("%s writes are atomic", strided ? "strided" : "contiguous");
  free(mine);
  free(seen);
}

void case_atomic(void) {
  MPI_Datatype type;
  int flag = 7;
  MPI_File file = open_file("scratch", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  OK(MPI_File_get_atomicity(file, &flag));
  say("atomic %d", flag);
  OK(MPI_File_set_atomicity(file, 1));
  OK(MPI_File_get_atomicity(file, &flag));
  say("atomic %d", flag);
  overlap(file, 0);
  OK(MPI_Type_vector(kBlocks, kBlock, 2 * kBlock, MPI_BYTE, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_File_set_view(file, 1000, MPI_BYTE, type, "native", MPI_INFO_NULL));
  overlap(file, 1);
  OK(MPI_Type_free(&type));
  OK(MPI_File_set_atomicity(file, 0));
  OK(MPI_File_get_atomicity(file, &flag));
  say("atomic %d", flag);
  close_file(&file);
}

void case_consistency(void) {
  // A token goes round: everyone sees what the one before him wrote.
  char text[1000];
  char back[1000];
  MPI_Status status;
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  for (int turn = 0; turn < the.size; ++turn) {
    if (turn == the.rank) {
      fill(text, sizeof(text), (unsigned)turn);
      OK(MPI_File_write_at(file, turn * 500, text, 1000, MPI_BYTE, &status));
    }
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
    OK(MPI_File_read_at(file, turn * 500, back, 1000, MPI_BYTE, &status));
    say_bytes("seen", back, 1000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  close_file(&file);
  // And what was closed is there when it is opened again, by another communicator too.
  OK(MPI_File_open(MPI_COMM_SELF, path("file"), MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  memset(back, 0, sizeof(back));
  OK(MPI_File_read_at(file, 0, back, 1000, MPI_BYTE, &status));
  say_bytes("again", back, 500);
  close_file(&file);
}
