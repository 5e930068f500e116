// Every way to wait for requests, of files alone and among messages; the entry points PMPI_ and _c.
#include <stdlib.h>
#include <string.h>

#include "conform.h"

enum { kCount = 6, kBytes = 5000 };

static char blocks[kCount][kBytes];
static MPI_Request requests[kCount];
static MPI_Status statuses[kCount];

static void begin(MPI_File file, int write, unsigned seed) {
  for (int i = 0; i < kCount; ++i) {
    const MPI_Offset offset = (MPI_Offset)kBytes * (i * the.size + the.rank);
    if (write) {
      fill(blocks[i], kBytes, seed + (unsigned)i);
      OK(MPI_File_iwrite_at(file, offset, blocks[i], kBytes, MPI_BYTE, &requests[i]));
    } else {
      memset(blocks[i], 0, kBytes);
      OK(MPI_File_iread_at(file, offset, blocks[i], kBytes - i, MPI_BYTE, &requests[i]));
    }
  }
}

static void done(const char* what) {
  for (int i = 0; i < kCount; ++i) {
    if (requests[i] != MPI_REQUEST_NULL) say("FAILED %s: request %d is still there", what, i);
  }
  say_bytes(what, blocks, sizeof(blocks));
}

// MPICH 4.0 aborts when file requests are tested again after their end.
static int finish_if_unsound(void) {
  if (unsound_reference()) OK(MPI_Waitall(kCount, requests, MPI_STATUSES_IGNORE));
  return unsound_reference();
}

void case_requests(void) {
  int index = 0;
  int flag = 0;
  int some[kCount];
  MPI_Status status;
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  begin(file, 1, 10);
  OK(MPI_Waitall(kCount, requests, statuses));
  for (int i = 0; i < kCount; ++i) say_status("waitall", &statuses[i], MPI_BYTE);
  done("waitall");

  begin(file, 0, 0);
  int sum = 0;
  for (int i = 0; i < kCount; ++i) {
    OK(MPI_Waitany(kCount, requests, &index, &status));
    int count = 0;
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    if (count != kBytes - index) say("FAILED waitany: %d bytes of request %d", count, index);
    sum += index;
  }
  say("waitany: sum %d", sum);
  OK(MPI_Waitany(kCount, requests, &index, &status));
  say("waitany of none: %d", index == MPI_UNDEFINED);
  done("waitany");

  begin(file, 1, 20);
  for (int left = kCount; left > 0;) {
    int count = 0;
    OK(MPI_Waitsome(kCount, requests, &count, some, statuses));
    left -= count;
  }
  done("waitsome");

  begin(file, 0, 0);
  for (int i = 0; i < kCount; ++i) {
    for (flag = 0; !flag;) OK(MPI_Test(&requests[i], &flag, &status));
    say_status("test", &status, MPI_BYTE);
  }
  done("test");

  begin(file, 1, 30);
  finish_if_unsound();
  for (flag = 0; !flag;) OK(MPI_Testall(kCount, requests, &flag, MPI_STATUSES_IGNORE));
  done("testall");

  begin(file, 0, 0);
  const int unsound = finish_if_unsound();
  for (int left = unsound ? 0 : kCount; left > 0;) {
    OK(MPI_Testany(kCount, requests, &index, &flag, &status));
    if (flag) --left;
  }
  done("testany");

  begin(file, 1, 40);
  finish_if_unsound();
  for (int left = unsound ? 0 : kCount; left > 0;) {
    int count = 0;
    OK(MPI_Testsome(kCount, requests, &count, some, statuses));
    if (count != MPI_UNDEFINED) left -= count;
  }
  done("testsome");

  begin(file, 0, 0);
  for (int i = 0; i < kCount; ++i) {
    // MPICH 4.0 never says that it is done.
    if (unsound) OK(MPI_Wait(&requests[i], &status));
    for (flag = unsound; !flag;) OK(MPI_Request_get_status(requests[i], &flag, &status));
    if (requests[i] == MPI_REQUEST_NULL && !unsound) say("FAILED: get_status frees nothing");
    say_status("get_status", &status, MPI_BYTE);
    OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
  }
  done("get_status");
  OK(MPI_Wait(&requests[0], &status));  // of MPI_REQUEST_NULL
  close_file(&file);
}

void case_mixed_requests(void) {
  MPI_Status status;
  MPI_Request mixed[4];
  int sent = the.rank;
  int received = -1;
  char text[3000];
  char back[3000];
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  fill(text, sizeof(text), 1);
  OK(MPI_Irecv(&received, 1, MPI_INT, (the.rank + the.size - 1) % the.size, 5, MPI_COMM_WORLD, &mixed[0]));
  OK(MPI_File_iwrite_at(file, 3000 * the.rank, text, 3000, MPI_BYTE, &mixed[1]));
  OK(MPI_Isend(&sent, 1, MPI_INT, (the.rank + 1) % the.size, 5, MPI_COMM_WORLD, &mixed[2]));
  mixed[3] = MPI_REQUEST_NULL;
  OK(MPI_Waitall(4, mixed, MPI_STATUSES_IGNORE));
  say("received %d", received);

  // Only the message can end the wait for any: the file comes first or last, and both come.
  OK(MPI_Irecv(&received, 1, MPI_INT, (the.rank + the.size - 1) % the.size, 6, MPI_COMM_WORLD, &mixed[0]));
  OK(MPI_File_iread_at(file, 3000 * the.rank, back, 3000, MPI_BYTE, &mixed[1]));
  OK(MPI_Isend(&sent, 1, MPI_INT, (the.rank + 1) % the.size, 6, MPI_COMM_WORLD, &mixed[2]));
  int sum = 0;
  for (int i = 0; i < 3; ++i) {
    int index = -1;
    OK(MPI_Waitany(4, mixed, &index, &status));
    sum += index;
  }
  say("waited for %d", sum);
  if (memcmp(text, back, sizeof(text)) != 0) say("FAILED: not what was written");

  // Collective ones in flight while messages pass.
  OK(MPI_File_iwrite_at_all(file, 3000 * (the.size + the.rank), text, 3000, MPI_BYTE, &mixed[0]));
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &mixed[1]));
  OK(settled(MPI_Waitall(2, mixed, MPI_STATUSES_IGNORE)));
  OK(MPI_File_iread_at_all(file, 3000 * (the.size + the.rank), back, 3000, MPI_BYTE, &mixed[0]));
  for (int flag = 0; !flag;) OK(MPI_Test(&mixed[0], &flag, &status));
  say_status("test of a collective read", &status, MPI_BYTE);
  say_bytes("read", back, sizeof(back));
  close_file(&file);
}

void case_profiling(void) {
  // The other names of the same functions.
  char text[200];
  MPI_Status status;
  MPI_Request request;
  MPI_File file;
  MPI_Offset size = 0;
  OK(PMPI_File_open(MPI_COMM_WORLD, path("file"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  fill(text, sizeof(text), 1);
  OK(PMPI_File_set_view(file, 8, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(settled(PMPI_File_write_at_all(file, the.rank * 200, text, 200, MPI_BYTE, &status)));
  say_status("write", &status, MPI_BYTE);
  OK(PMPI_File_seek(file, (the.size - 1 - the.rank) * 200, MPI_SEEK_SET));
  OK(PMPI_File_iread(file, text, 200, MPI_BYTE, &request));
  OK(PMPI_Wait(&request, &status));
  say_bytes("read", text, sizeof(text));
  OK(PMPI_File_sync(file));
  OK(PMPI_File_get_size(file, &size));
  say("size %lld", (long long)size);
  OK(PMPI_File_close(&file));
}

void case_large_counts(void) {
  // In libraries of MPI 4; the same is said without them.
  char text[400];
  char back[400];
  MPI_Status status;
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  fill(text, sizeof(text), 1);
  memset(back, 0, sizeof(back));
#if MPI_VERSION >= 4
  MPI_Request request;
  OK(MPI_File_write_at_c(file, 800 * the.rank, text, 100, MPI_BYTE, &status));
  OK(MPI_File_write_at_all_c(file, 800 * the.rank + 100, text + 100, 100, MPI_BYTE, &status));
  OK(MPI_File_iwrite_at_c(file, 800 * the.rank + 200, text + 200, 100, MPI_BYTE, &request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_File_seek(file, 800 * the.rank + 300, MPI_SEEK_SET));
  OK(MPI_File_write_all_c(file, text + 300, 100, MPI_BYTE, &status));
  OK(MPI_File_read_at_c(file, 800 * the.rank, back, 200, MPI_BYTE, &status));
  OK(MPI_File_read_at_all_c(file, 800 * the.rank + 200, back + 200, 200, MPI_BYTE, &status));
  say_status("read", &status, MPI_BYTE);
  OK(MPI_File_write_at_all_begin_c(file, 800 * the.rank + 400, text, 400, MPI_BYTE));
  OK(MPI_File_write_at_all_end(file, text, &status));
  MPI_Count extent = 0;
  OK(MPI_File_get_type_extent_c(file, MPI_INT, &extent));
  say("extent %lld", (long long)extent);
#else
  MPI_Aint extent = 0;
  OK(MPI_File_write_at_all(file, 800 * the.rank, text, 400, MPI_BYTE, &status));
  OK(MPI_File_read_at_all(file, 800 * the.rank, back, 400, MPI_BYTE, &status));
  OK(MPI_File_write_at_all(file, 800 * the.rank + 400, text, 400, MPI_BYTE, &status));
  OK(MPI_File_read_at_all(file, 800 * the.rank + 200, back + 200, 200, MPI_BYTE, &status));
  say_status("read", &status, MPI_BYTE);
  OK(MPI_File_get_type_extent(file, MPI_INT, &extent));
  say("extent %lld", (long long)extent);
#endif
  if (memcmp(text, back, sizeof(text)) != 0) say("FAILED: not what was written");
  close_file(&file);
}
