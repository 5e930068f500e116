// The conformance suite: what its cases share.
//
// The program runs every case on files under a prefix, once on a local directory and once on Tutti, and writes what
// it saw to one log for each rank. Logs and files of the two runs must be equal byte for byte: what a case says must
// not depend on time, names or chance.
#pragma once

#include <mpi.h>
#include <stddef.h>

struct context {
  int rank;
  int size;
  const char* prefix;
  int reference;  // the run on the MPI library's own MPI-IO
};
extern struct context the;

// PREFIX/CASE.NAME; the text lives until the second call after this.
const char* path(const char* name);

__attribute__((format(printf, 1, 2))) void say(const char* format, ...);
// Says what went wrong; nothing if all is well.
void check(int error, const char* what);
#define OK(call) check((call), #call)
// The error must be of this class. What the reference run gets is not looked at: libraries differ.
void expect_class(const char* what, int error, int class_);
// The file's info must have this value; Tutti only.
void expect_hint(MPI_File file, const char* key, const char* value);

// The reference run of a case that MPICH 4.0 aborts in: nested types in both memory and file, external32. What Tutti
// does under MPICH is then compared with the reference run under Open MPI.
int unsound_reference(void);

// Bytes that differ between ranks, seeds and places.
void fill(void* memory, size_t length, unsigned seed);
void say_bytes(const char* what, const void* memory, size_t length);
void say_status(const char* what, MPI_Status* status, MPI_Datatype type);
// As say_status, where the reference errs.
void expect_count(const char* what, MPI_Status* status, MPI_Datatype type, int count);
void say_place(MPI_File file, const char* what);

// In the reference run all ranks wait for each other: Open MPI's own collective writes may end before others have
// written this rank's bytes.
int settled(int error);

MPI_File open_file(const char* name, int mode);
void close_file(MPI_File* file);
// The type with room behind it for those of the other ranks.
MPI_Datatype interleave(MPI_Datatype type);
// A generator of our own: the same everywhere.
unsigned draw(unsigned long* state, unsigned bound);

// The cases.
void case_modes(void);
void case_size(void);
void case_communicators(void);
void case_hints(void);
void case_at(void);
void case_individual(void);
void case_position(void);
void case_end_of_file(void);
void case_shared(void);
void case_ordered(void);
void case_file_types(void);
void case_memory_types(void);
void case_distributed(void);
void case_views(void);
void case_bottom(void);
void case_random(void);
void case_strided(void);
void case_external32(void);
void case_requests(void);
void case_mixed_requests(void);
void case_atomic(void);
void case_consistency(void);
void case_errors(void);
void case_collective_errors(void);
void case_handlers(void);
void case_profiling(void);
void case_large_counts(void);

#define MPI_File_write_at_all(...) settled(MPI_File_write_at_all(__VA_ARGS__))
#define MPI_File_write_all(...) settled(MPI_File_write_all(__VA_ARGS__))
#define MPI_File_write_ordered(...) settled(MPI_File_write_ordered(__VA_ARGS__))
#define MPI_File_write_at_all_end(...) settled(MPI_File_write_at_all_end(__VA_ARGS__))
#define MPI_File_write_all_end(...) settled(MPI_File_write_all_end(__VA_ARGS__))
#define MPI_File_write_ordered_end(...) settled(MPI_File_write_ordered_end(__VA_ARGS__))
