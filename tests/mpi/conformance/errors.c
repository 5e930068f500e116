// Errors: their classes, agreement of the ranks, error handlers.
#include <string.h>

#include "conform.h"

static MPI_Status status;
static char text[100];

// A call that the libraries' own answer with success, an abort or a hang.
#define TUTTI_ONLY(call) (the.reference ? MPI_SUCCESS : (call))

static int open_with(const char* name, int mode) {
  MPI_File file = MPI_FILE_NULL;
  const int error = MPI_File_open(MPI_COMM_WORLD, path(name), mode, MPI_INFO_NULL, &file);
  if (error == MPI_SUCCESS) MPI_File_close(&file);
  return error;
}

void case_errors(void) {
  MPI_File file;
  expect_class("missing", open_with("missing", MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
  expect_class("missing directory", open_with("no/such/file", MPI_MODE_CREATE | MPI_MODE_RDWR),
               MPI_ERR_NO_SUCH_FILE);
  file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  close_file(&file);
  expect_class("exists", open_with("file", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR),
               MPI_ERR_FILE_EXISTS);
  expect_class("two modes", open_with("file", MPI_MODE_RDONLY | MPI_MODE_RDWR), MPI_ERR_AMODE);
  expect_class("no mode", open_with("file", 0), MPI_ERR_AMODE);
  expect_class("create for reading", open_with("file", MPI_MODE_CREATE | MPI_MODE_RDONLY), MPI_ERR_AMODE);
  expect_class("sequential and both", open_with("file", MPI_MODE_SEQUENTIAL | MPI_MODE_RDWR), MPI_ERR_AMODE);
  expect_class("delete missing", MPI_File_delete(path("missing"), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);

  file = open_file("file", MPI_MODE_RDONLY);
  expect_class("write to a file for reading", MPI_File_write_at(file, 0, text, 10, MPI_BYTE, &status),
               MPI_ERR_READ_ONLY);
  expect_class("set size of one", MPI_File_set_size(file, 5), MPI_ERR_READ_ONLY);
  expect_class("negative offset", MPI_File_read_at(file, -1, text, 10, MPI_BYTE, &status), MPI_ERR_ARG);
  expect_class("negative count", MPI_File_read_at(file, 0, text, -1, MPI_BYTE, &status), MPI_ERR_COUNT);
  expect_class("seek before the file", MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  expect_class("seek from nowhere", MPI_File_seek(file, 0, 12345), MPI_ERR_ARG);
  expect_class("unknown representation",
               MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "no such", MPI_INFO_NULL),
               MPI_ERR_UNSUPPORTED_DATAREP);
  close_file(&file);

  file = open_file("file", MPI_MODE_WRONLY);
  expect_class("read from a file for writing", MPI_File_read_at(file, 0, text, 10, MPI_BYTE, &status),
               MPI_ERR_ACCESS);
  close_file(&file);

  file = open_file("file", MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  expect_class("offset in a sequential file", MPI_File_write_at(file, 0, text, 10, MPI_BYTE, &status),
               MPI_ERR_UNSUPPORTED_OPERATION);
  expect_class("seek in a sequential file", MPI_File_seek(file, 0, MPI_SEEK_SET),
               MPI_ERR_UNSUPPORTED_OPERATION);
  OK(TUTTI_ONLY(MPI_File_write_shared(file, text, 10, MPI_BYTE, &status)));
  close_file(&file);
  say("a closed file is an error: %d", MPI_File_sync(file) != MPI_SUCCESS);

  file = open_file("file", MPI_MODE_RDWR);
  MPI_Datatype type;
  OK(MPI_Type_contiguous(5, MPI_SHORT, &type));
  OK(MPI_Type_commit(&type));
  // No part of an etype may be moved, and only one split collective may be open.
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  expect_class("part of an etype", TUTTI_ONLY(MPI_File_write_at(file, 0, text, 1, type, &status)),
               MPI_ERR_IO);
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  // What a filetype must not be is told as ROMIO does.
  MPI_Datatype descending;
  int lengths[2] = {1, 1};
  int places[2] = {4, 0};
  OK(MPI_Type_indexed(2, lengths, places, MPI_BYTE, &descending));
  OK(MPI_Type_commit(&descending));
  expect_class("descending filetype",
               TUTTI_ONLY(MPI_File_set_view(file, 0, MPI_BYTE, descending, "native", MPI_INFO_NULL)), MPI_ERR_IO);
  OK(MPI_Type_free(&descending));
  expect_class("negative displacement",
               TUTTI_ONLY(MPI_File_set_view(file, -5, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL)), MPI_ERR_ARG);
  OK(TUTTI_ONLY(MPI_File_write_at_all_begin(file, 0, text, 4, MPI_BYTE)));
  expect_class("second split collective", TUTTI_ONLY(MPI_File_write_at_all_begin(file, 0, text, 4, MPI_BYTE)),
               MPI_ERR_IO);
  OK(TUTTI_ONLY(MPI_File_write_at_all_end(file, text, &status)));
  expect_class("end without begin", TUTTI_ONLY(MPI_File_read_at_all_end(file, text, &status)), MPI_ERR_IO);
  OK(MPI_Type_free(&type));
  OK(MPI_File_set_size(file, 4));
  close_file(&file);
}

void case_collective_errors(void) {
  // Where the libraries themselves abort, hang or go on there is nothing to compare with.
  if (the.reference || the.size == 1) return;
  MPI_File file = MPI_FILE_NULL;
  const int mode = the.rank == 0 ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_WRONLY | MPI_MODE_CREATE;
  expect_class("modes differ", MPI_File_open(MPI_COMM_WORLD, path("file"), mode, MPI_INFO_NULL, &file),
               MPI_ERR_NOT_SAME);
  file = open_file("file", MPI_MODE_CREATE | MPI_MODE_RDWR);
  // One rank's error is everybody's.
  const int count = the.rank == the.size - 1 ? -1 : 10;
  const int error = MPI_File_write_at_all(file, 0, text, count, MPI_BYTE, &status);
  say("write_at_all with one bad count fails: %d", error != MPI_SUCCESS);
  OK(MPI_File_write_at_all(file, 100 * the.rank, text, 100, MPI_BYTE, &status));
  expect_class("sizes differ", MPI_File_set_size(file, 100 + the.rank), MPI_ERR_NOT_SAME);
  OK(MPI_File_set_size(file, 100));
  close_file(&file);
}

static int calls;

static void count_call(MPI_File* file, int* error, ...) {
  (void)file;
  (void)error;
  ++calls;
}

void case_handlers(void) {
  MPI_Errhandler handler;
  MPI_Errhandler found;
  MPI_File file = open_file("file", MPI_MODE_CREATE | MPI_MODE_WRONLY);
  OK(MPI_File_get_errhandler(file, &found));
  say("errors return: %d", found == MPI_ERRORS_RETURN);
  OK(MPI_File_create_errhandler(count_call, &handler));
  OK(MPI_File_set_errhandler(file, handler));
  calls = 0;
  int error = MPI_File_read_at(file, 0, text, 10, MPI_BYTE, &status);
  say("called %d times, error %d", calls, error != MPI_SUCCESS);
  OK(MPI_File_call_errhandler(file, MPI_ERR_OTHER));
  say("called %d times", calls);
  OK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
  error = MPI_File_read_at(file, 0, text, 10, MPI_BYTE, &status);
  say("called %d times, error %d", calls, error != MPI_SUCCESS);
  close_file(&file);
  // The handler of MPI_FILE_NULL is that of failed opens.
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
  calls = 0;
  error = open_with("missing", MPI_MODE_RDONLY);
  say("called %d times, error %d", calls, error != MPI_SUCCESS);
  file = open_file("file", MPI_MODE_WRONLY);
  calls = 0;
  error = MPI_File_read_at(file, 0, text, 10, MPI_BYTE, &status);
  say("inherited: called %d times, error %d", calls, error != MPI_SUCCESS);
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  close_file(&file);
#ifndef MPICH_VERSION  // 4.0 counts those of MPI_FILE_NULL wrongly and aborts
  OK(MPI_Errhandler_free(&handler));
#endif
}
