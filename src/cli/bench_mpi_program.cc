// What `tutti bench mpi` starts under mpirun: transfers on one file, local or of Tutti.
//   bench_mpi contiguous|strided FILE REPEATS
// Rank 0 prints "operation seconds bytes" for each; the first, which makes the file and warms up, is not printed.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int kBlock = 3240;               // strided: bytes of a block
constexpr int kRow = 64;                   // blocks of a rank in a row
constexpr int kRows = 80;                  // rows
constexpr MPI_Offset kTransfer = 8 << 20;  // contiguous: bytes of a call
constexpr int kTransfers = 8;              // calls of a rank in a round

int rank = 0;
int size = 0;

void must(int error, const char* what) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  MPI_Error_string(error, text, &length);
  std::fprintf(stderr, "bench mpi: rank %d: %s: %s\n", rank, what, text);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

MPI_File open_file(const std::string& name) {
  MPI_File file = MPI_FILE_NULL;
  must(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
       ("open " + name).c_str());
  return file;
}

// From the first to begin to the last to end.
double timed(const std::function<void()>& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = MPI_Wtime();
  work();
  MPI_Barrier(MPI_COMM_WORLD);
  double took = MPI_Wtime() - before;
  MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return took;
}

struct Operation {
  const char* name;
  std::function<void(MPI_File)> run;
};

void repeat(const std::vector<Operation>& operations, MPI_File file, int repeats, double bytes) {
  for (int i = 0; i <= repeats; ++i) {
    for (const Operation& operation : operations) {
      const double took = timed([&] { operation.run(file); });
      if (rank != 0 || i == 0) continue;
      std::printf("%s %.9f %.0f\n", operation.name, took, bytes);
      std::fflush(stdout);
    }
  }
}

void contiguous(MPI_File target, int repeats) {
  std::vector<char> data(static_cast<std::size_t>(kTransfer), static_cast<char>(rank));
  const auto move = [&](MPI_File file, bool write) {
    MPI_Status status;
    const int count = static_cast<int>(kTransfer);
    for (int i = 0; i < kTransfers; ++i) {
      const MPI_Offset at = (static_cast<MPI_Offset>(rank) * kTransfers + i) * kTransfer;
      must(write ? MPI_File_write_at(file, at, data.data(), count, MPI_BYTE, &status)
                 : MPI_File_read_at(file, at, data.data(), count, MPI_BYTE, &status),
           "contiguous transfer");
    }
  };
  repeat({{"contiguous_write", [&](MPI_File file) { move(file, true); }},
          {"contiguous_read", [&](MPI_File file) { move(file, false); }}},
         target, repeats, static_cast<double>(kTransfer) * kTransfers * size);
}

void strided(MPI_File target, int repeats) {
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  must(MPI_Type_vector(kRow, kBlock, kBlock * size, MPI_BYTE, &row), "vector");
  must(MPI_Type_create_hvector(kRows, 1, static_cast<MPI_Aint>(kBlock) * size * kRow, row, &type), "hvector");
  must(MPI_Type_commit(&type), "commit");
  must(MPI_File_set_view(target, static_cast<MPI_Offset>(rank) * kBlock, MPI_BYTE, type, "native",
                         MPI_INFO_NULL),
       "set_view");
  const int count = kBlock * kRow * kRows;
  std::vector<char> data(static_cast<std::size_t>(count), static_cast<char>(rank));
  const auto move = [&](auto function) {
    return [&data, count, function](MPI_File file) {
      MPI_Status status;
      must(function(file, 0, data.data(), count, MPI_BYTE, &status), "strided transfer");
    };
  };
  repeat({{"strided_collective_write", move(MPI_File_write_at_all)},
          {"strided_collective_read", move(MPI_File_read_at_all)},
          {"strided_independent_write", move(MPI_File_write_at)},
          {"strided_independent_read", move(MPI_File_read_at)}},
         target, repeats, static_cast<double>(count) * size);
  MPI_Type_free(&row);
  MPI_Type_free(&type);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4) must(MPI_ERR_ARG, "usage: bench_mpi contiguous|strided FILE REPEATS");
  MPI_File file = open_file(argv[2]);
  if (std::string(argv[1]) == "contiguous") {
    contiguous(file, std::atoi(argv[3]));
  } else {
    strided(file, std::atoi(argv[3]));
  }
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
