// POSIX calls on the names that a program gives to MPI-IO. usage: posix DIRECTORY
// Prints "good" on rank 0; says which line was not, and ends with 1.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define WANT(condition)                                                                  \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      printf("line %d: %s is not so (errno %d)\n", __LINE__, #condition, errno);         \
      fflush(stdout);                                                                    \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                      \
    }                                                                                    \
  } while (0)

static char directory[4096];
static int rank, size;

static const char* path(const char* name) {
  static char texts[4][4200];
  static int turn;
  turn = (turn + 1) % 4;
  snprintf(texts[turn], sizeof(texts[turn]), "%s/%s", directory, name);
  return texts[turn];
}

static void write_by_mpi(const char* name, int bytes) {
  char text[1000];
  MPI_File file;
  memset(text, 'a' + rank, sizeof(text));
  WANT(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
  WANT(MPI_File_write_at_all(file, (MPI_Offset)rank * bytes, text, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  WANT(MPI_File_close(&file) == MPI_SUCCESS);
}

static void descriptors(void) {
  char text[64];
  struct stat status;
  int fd = open(path("plain"), O_CREAT | O_RDWR | O_EXCL, 0640);
  WANT(fd >= 0);
  WANT(write(fd, "0123456789", 10) == 10);
  WANT(pwrite(fd, "ab", 2, 4) == 2);
  WANT(lseek(fd, 0, SEEK_CUR) == 10);
  WANT(lseek(fd, -8, SEEK_END) == 2);
  WANT(read(fd, text, 4) == 4 && memcmp(text, "23ab", 4) == 0);
  WANT(pread(fd, text, sizeof(text), 8) == 2 && memcmp(text, "89", 2) == 0);
  WANT(pread(fd, text, sizeof(text), 100) == 0);
  const struct iovec parts[2] = {{"X", 1}, {"YZ", 2}};
  WANT(writev(fd, parts, 2) == 3);
  WANT(fsync(fd) == 0 && ftruncate(fd, 9) == 0);
  WANT(fstat(fd, &status) == 0 && status.st_size == 9 && S_ISREG(status.st_mode));
  WANT(close(fd) == 0);
  WANT(close(fd) == -1 && errno == EBADF);
  WANT(open(path("plain"), O_CREAT | O_RDWR | O_EXCL, 0640) == -1 && errno == EEXIST);
  WANT(stat(path("plain"), &status) == 0 && status.st_size == 9 && (status.st_mode & 0777) == (0640 & ~022));
  fd = open(path("plain"), O_WRONLY | O_APPEND);
  WANT(fd >= 0 && write(fd, "end", 3) == 3 && close(fd) == 0);
  WANT(truncate(path("plain"), 11) == 0);
  fd = open(path("plain"), O_RDONLY);
  WANT(fd >= 0 && read(fd, text, sizeof(text)) == 11 && memcmp(text, "0123abXYZen", 11) == 0);
  WANT(write(fd, "x", 1) == -1);
  WANT(close(fd) == 0);
}

static void streams(void) {
  char line[100];
  FILE* stream = fopen(path("stream"), "w");
  WANT(stream != NULL && fprintf(stream, "first %d\nsecond\n", 1) == 15 && fclose(stream) == 0);
  stream = fopen(path("stream"), "a");
  WANT(stream != NULL && fputs("third\n", stream) >= 0 && fclose(stream) == 0);
  stream = fopen(path("stream"), "r");
  WANT(stream != NULL && fgets(line, sizeof(line), stream) != NULL && strcmp(line, "first 1\n") == 0);
  WANT(fseek(stream, -6, SEEK_END) == 0 && fgets(line, sizeof(line), stream) != NULL && strcmp(line, "third\n") == 0);
  WANT(ftell(stream) == 21 && fclose(stream) == 0);
  WANT(fopen(path("no such file"), "r") == NULL && errno == ENOENT);
}

static void names(void) {
  struct stat status;
  WANT(mkdir(path("made"), 0755) == 0);
  WANT(mkdir(path("made"), 0755) == -1 && errno == EEXIST);
  WANT(stat(path("made"), &status) == 0 && S_ISDIR(status.st_mode));
  WANT(rename(path("plain"), path("made/moved")) == 0);
  WANT(access(path("plain"), F_OK) == -1 && errno == ENOENT);
  WANT(access(path("made/moved"), R_OK | W_OK) == 0);
  WANT(rename(path("made/moved"), "/tmp/elsewhere") == -1 && errno == EXDEV);
  int seen = 0;
  DIR* listing = opendir(directory);
  WANT(listing != NULL);
  for (struct dirent* entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
    if (strcmp(entry->d_name, "made") == 0 && entry->d_type == DT_DIR) seen |= 1;
    if (strcmp(entry->d_name, "stream") == 0 && entry->d_type == DT_REG) seen |= 2;
  }
  WANT(closedir(listing) == 0 && seen == 3);
  WANT(rmdir(path("made")) == -1 && errno == ENOTEMPTY);
  WANT(unlink(path("made/moved")) == 0);
  WANT(rmdir(path("made")) == 0);
  WANT(remove(path("stream")) == 0);
  WANT(lstat(path("stream"), &status) == -1 && errno == ENOENT);
}

// Other files are the C library's.
static void others(void) {
  char text[16] = "";
  FILE* stream = tmpfile();
  WANT(stream != NULL && fputs("local", stream) >= 0);
  rewind(stream);
  WANT(fgets(text, sizeof(text), stream) != NULL && strcmp(text, "local") == 0 && fclose(stream) == 0);
  DIR* listing = opendir("/");
  WANT(listing != NULL && readdir(listing) != NULL && closedir(listing) == 0);
  struct stat status;
  WANT(stat("/", &status) == 0 && S_ISDIR(status.st_mode));
}

int main(int argc, char** argv) {
  struct stat status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  WANT(argc == 2);
  umask(022);
  snprintf(directory, sizeof(directory), "%s", argv[1]);
  if (rank == 0) WANT(mkdir(directory, 0755) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  write_by_mpi(path("shared"), 700);
  MPI_Barrier(MPI_COMM_WORLD);
  WANT(stat(path("shared"), &status) == 0 && status.st_size == 700 * size);
  char text[700];
  int fd = open(path("shared"), O_RDONLY);
  WANT(fd >= 0 && pread(fd, text, sizeof(text), 700 * rank) == 700 && text[0] == 'a' + rank && text[699] == text[0]);
  WANT(close(fd) == 0);
  // Each rank in a directory of its own, as IOR has it with a file for each.
  snprintf(directory, sizeof(directory), "%s/%d", argv[1], rank);
  WANT(mkdir(directory, 0755) == 0);
  descriptors();
  streams();
  names();
  others();
  WANT(rmdir(directory) == 0);
  snprintf(directory, sizeof(directory), "%s", argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    WANT(unlink(path("shared")) == 0);
    WANT(rmdir(directory) == 0);
    printf("good\n");
  }
  MPI_Finalize();
  return 0;
}
