// usage: conform PREFIX LOGS [CASE...]   with CONFORM_REFERENCE=1 in the environment for the reference run
#include "conform.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct context the;

static FILE* log_file;
static const char* case_name = "";

const char* path(const char* name) {
  static char texts[2][4096];
  static int turn;
  turn = 1 - turn;
  snprintf(texts[turn], sizeof(texts[turn]), "%s/%s.%s", the.prefix, case_name, name);
  return texts[turn];
}

void say(const char* format, ...) {
  va_list arguments;
  fprintf(log_file, "%s: ", case_name);
  va_start(arguments, format);
  vfprintf(log_file, format, arguments);
  va_end(arguments);
  fputc('\n', log_file);
  fflush(log_file);
}

static const char* error_text(int error) {
  static char text[MPI_MAX_ERROR_STRING + 1];
  int length = 0;
  if (MPI_Error_string(error, text, &length) != MPI_SUCCESS) snprintf(text, sizeof(text), "error %d", error);
  return text;
}

void check(int error, const char* what) {
  if (error == MPI_SUCCESS) return;
  say("FAILED %s: %s", what, error_text(error));
}

void expect_class(const char* what, int error, int class_) {
  int found = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &found);
  if (the.reference || found == class_) {
    say("%s: the right error class", what);
  } else {
    say("%s: FAILED: error class %d (%s), not %d", what, found, error_text(error), class_);
  }
}

void expect_hint(MPI_File file, const char* key, const char* value) {
  if (!the.reference) {
    MPI_Info info;
    char found[MPI_MAX_INFO_VAL + 1] = "";
    int there = 0;
    OK(MPI_File_get_info(file, &info));
    OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, found, &there));
    OK(MPI_Info_free(&info));
    if (!there || strcmp(found, value) != 0) {
      say("hint %s: FAILED: \"%s\", not \"%s\"", key, there ? found : "(none)", value);
      return;
    }
  }
  say("hint %s is %s", key, value);
}

int unsound_reference(void) {
#ifdef MPICH_VERSION
  return the.reference;
#else
  return 0;
#endif
}

int settled(int error) {
  if (the.reference) MPI_Barrier(MPI_COMM_WORLD);
  return error;
}

void fill(void* memory, size_t length, unsigned seed) {
  unsigned char* bytes = memory;
  uint64_t state = ((uint64_t)seed << 32U) + (uint64_t)(the.rank + 1) * 0x9e3779b9U;
  for (size_t i = 0; i < length; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    bytes[i] = (unsigned char)(state >> 56U);
  }
}

void say_bytes(const char* what, const void* memory, size_t length) {
  const unsigned char* bytes = memory;
  uint64_t hash = 14695981039346656037ULL;
  for (size_t i = 0; i < length; ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  say("%s: %zu bytes %016llx", what, length, (unsigned long long)hash);
}

void say_status(const char* what, MPI_Status* status, MPI_Datatype type) {
  int count = -7;
  int elements = -7;
  OK(MPI_Get_count(status, type, &count));
  OK(MPI_Get_elements(status, type, &elements));
  if (count == MPI_UNDEFINED) count = -1;
  say("%s: count %d elements %d", what, count, elements);
}

void expect_count(const char* what, MPI_Status* status, MPI_Datatype type, int count) {
  int found = -7;
  OK(MPI_Get_count(status, type, &found));
  if (found != count && !the.reference) say("%s: FAILED: count %d, not %d", what, found, count);
}

void say_place(MPI_File file, const char* what) {
  MPI_Offset position = -1;
  MPI_Offset byte = -1;
  OK(MPI_File_get_position(file, &position));
  OK(MPI_File_get_byte_offset(file, position, &byte));
  say("%s: position %lld byte %lld", what, (long long)position, (long long)byte);
}

MPI_File open_file(const char* name, int mode) {
  MPI_File file = MPI_FILE_NULL;
  const int error = MPI_File_open(MPI_COMM_WORLD, path(name), mode, MPI_INFO_NULL, &file);
  check(error, "MPI_File_open");
  if (error != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
  return file;
}

void close_file(MPI_File* file) {
  OK(MPI_File_close(file));
  if (*file != MPI_FILE_NULL) say("FAILED: the handle of a closed file is not MPI_FILE_NULL");
}

MPI_Datatype interleave(MPI_Datatype type) {
  MPI_Datatype wide;
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  OK(MPI_Type_get_extent(type, &low, &extent));
  OK(MPI_Type_create_resized(type, low, extent * the.size, &wide));
  OK(MPI_Type_commit(&wide));
  return wide;
}

unsigned draw(unsigned long* state, unsigned bound) {
  *state = *state * 6364136223846793005UL + 1442695040888963407UL;
  return (unsigned)((*state >> 33U) % bound);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
    {"modes", case_modes},
    {"size", case_size},
    {"communicators", case_communicators},
    {"hints", case_hints},
    {"at", case_at},
    {"individual", case_individual},
    {"position", case_position},
    {"end_of_file", case_end_of_file},
    {"shared", case_shared},
    {"ordered", case_ordered},
    {"file_types", case_file_types},
    {"memory_types", case_memory_types},
    {"distributed", case_distributed},
    {"views", case_views},
    {"bottom", case_bottom},
    {"random", case_random},
    {"strided", case_strided},
    {"external32", case_external32},
    {"requests", case_requests},
    {"mixed_requests", case_mixed_requests},
    {"atomic", case_atomic},
    {"consistency", case_consistency},
    {"errors", case_errors},
    {"collective_errors", case_collective_errors},
    {"handlers", case_handlers},
    {"profiling", case_profiling},
    {"large_counts", case_large_counts},
};

static int wanted(const char* name, int count, char** names) {
  if (count == 0) return 1;
  for (int i = 0; i < count; ++i) {
    if (strcmp(names[i], name) == 0) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &the.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &the.size);
  if (argc < 3) {
    fprintf(stderr, "usage: conform PREFIX LOGS [CASE...]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  the.prefix = argv[1];
  the.reference = getenv("CONFORM_REFERENCE") != NULL;
  char name[4096];
  snprintf(name, sizeof(name), "%s/%d", argv[2], the.rank);
  log_file = fopen(name, "w");
  if (log_file == NULL) {
    perror(name);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int timed = getenv("CONFORM_TIMES") != NULL;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    if (!wanted(cases[i].name, argc - 3, argv + 3)) continue;
    case_name = cases[i].name;
    const double before = MPI_Wtime();
    cases[i].run();
    if (timed && the.rank == 0) fprintf(stderr, "%-20s %6.2f s\n", case_name, MPI_Wtime() - before);
  }
  case_name = "end";
  say("all cases ran");
  fclose(log_file);
  MPI_Finalize();
  return 0;
}
