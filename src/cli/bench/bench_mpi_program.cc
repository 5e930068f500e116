// What `tutti bench mpi` and `tutti lab run --real` start under mpirun.
//   contiguous|strided FILE REPEATS
// transfers on one file, local or of Tutti. Rank 0 prints "operation seconds bytes" for each; the first, which makes
// the file and warms up, is not printed.
//   fresh FILE REPEATS
// strided writes into new files, FILE.N, from the first write to the end of closing.
//   open FILE REPEATS
// opening an existing file on all ranks.
//   views FILE REPEATS PIDS ONLY
// one phase of BTIO, class C: written and read in several ways that take turns. Rank 0 prints "operation seconds bytes CPU",
// the last being the seconds of processor time that the processes PIDS (separated by commas) took for it.
//   rounds FILE ROUNDS BYTES REQUESTS
// so many reads of each rank at once in every round, of a file whose every word is its own offset. Rank 0 prints "ready", takes "START PERIOD" in nanoseconds of the steady clock
// from its standard input, and prints in one line how many seconds after its due time each round was over.
//   demo FILE CALLS SEGMENT
// so many collective reads of four interleaved segments of each rank, of such a file. Rank 0 prints "demo seconds bytes".
//   forward FILE MILLISECONDS BYTES
// reads of so many bytes of each rank in turn, with a barrier between them, for so long. Rank 0 prints "ready", takes START as above, and prints
// in one line, for each tenth of a second from then on, the bytes that all ranks have read in it, and in another the milliseconds of the
// longest read that ended in it.
//   checkpoints mpi|posix FILE TIMES BYTES COMPUTE_MS
// so many checkpoints of so many bytes of each rank, with one MPI file for all or a file for each rank, new each time, after a pause each. Rank 0
// prints "ready", takes START as above, and prints in one line how many seconds each checkpoint took, from the first that begins
// to open to the last that has closed.
#include <fcntl.h>
#include <mpi.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
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
  std::fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

MPI_File open_file(const std::string& name, int mode) {
  MPI_File file = MPI_FILE_NULL;
  must(MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, MPI_INFO_NULL, &file), ("open " + name).c_str());
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

// Blocks of all ranks in turn.
void set_strided_view(MPI_File file) {
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  must(MPI_Type_vector(kRow, kBlock, kBlock * size, MPI_BYTE, &row), "vector");
  must(MPI_Type_create_hvector(kRows, 1, static_cast<MPI_Aint>(kBlock) * size * kRow, row, &type), "hvector");
  must(MPI_Type_commit(&type), "commit");
  must(MPI_File_set_view(file, static_cast<MPI_Offset>(rank) * kBlock, MPI_BYTE, type, "native",
                         MPI_INFO_NULL),
       "set_view");
  MPI_Type_free(&row);
  MPI_Type_free(&type);
}

void strided(MPI_File target, int repeats) {
  set_strided_view(target);
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
}

// The blocks of a rank in BTIO: the grid is cut into as many cells in each direction as there are ranks in a row, and a
// rank has the cells of a diagonal.
MPI_Datatype btio_type() {
  constexpr int kGrid = 162;  // class C
  constexpr int kPoint = 40;  // bytes: five doubles
  const int row = static_cast<int>(std::lround(std::sqrt(size)));
  const int cell = kGrid / row;
  MPI_Datatype point = MPI_DATATYPE_NULL;
  must(MPI_Type_contiguous(kPoint, MPI_BYTE, &point), "contiguous");
  std::vector<MPI_Datatype> cells;
  std::array<int, 3> at = {rank % row, rank / row, 0};
  for (int i = 0; i < row; ++i) {
    const std::array<int, 3> sizes = {kGrid, kGrid, kGrid};
    const std::array<int, 3> part = {cell, cell, cell};
    const std::array<int, 3> start = {at[0] * cell, at[1] * cell, at[2] * cell};
    MPI_Datatype each = MPI_DATATYPE_NULL;
    must(
        MPI_Type_create_subarray(3, sizes.data(), part.data(), start.data(), MPI_ORDER_FORTRAN, point, &each),
        "subarray");
    cells.push_back(each);
    at = {(at[0] + 1) % row, (at[1] + row - 1) % row, i + 1};
  }
  std::vector<int> lengths(cells.size(), 1);
  std::vector<MPI_Aint> places(cells.size(), 0);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  must(MPI_Type_create_struct(row, lengths.data(), places.data(), cells.data(), &type), "struct");
  must(MPI_Type_commit(&type), "commit");
  for (MPI_Datatype& each : cells) MPI_Type_free(&each);
  MPI_Type_free(&point);
  return type;
}

// Seconds of processor time that the processes have taken.
double processor_time(const std::vector<int>& processes) {
  double sum = 0;
  for (const int process : processes) {
    std::ifstream file("/proc/" + std::to_string(process) + "/schedstat");
    double nanoseconds = 0;
    if (file >> nanoseconds) sum += nanoseconds * 1e-9;
  }
  return sum;
}

// A way to move the same bytes.
struct Way {
  std::string name;
  bool collective;
  std::vector<std::pair<std::string, std::string>> hints;
  MPI_File file = MPI_FILE_NULL;
};

std::vector<Way> ways_to_move() {
  std::vector<Way> ways = {{"view", false, {{"tutti_views", "enable"}}},
                           {"list", false, {{"tutti_views", "disable"}}}};
  for (const char* nodes : {"3", "9"}) {
    for (const char* buffer : {"4", "16"}) {
      ways.push_back({std::string("two_phase_") + nodes + "_" + buffer,
                      true,
                      {{"tutti_collective", "two_phase"},
                       {"romio_cb_read", "enable"},
                       {"romio_cb_write", "enable"},
                       {"cb_nodes", nodes},
                       {"cb_buffer_size", std::string(buffer) + "MiB"}}});
    }
  }
  return ways;
}

// `only`: the beginning of the names of the ways to take, with the operation ("view_write").
void views(const std::string& name, int repeats, const std::vector<int>& servers, const std::string& only) {
  std::vector<Way> ways = ways_to_move();
  MPI_Datatype type = btio_type();
  int count = 0;
  must(MPI_Type_size(type, &count), "size");
  for (Way& way : ways) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (const auto& [key, value] : way.hints) MPI_Info_set(info, key.c_str(), value.c_str());
    must(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &way.file),
         "open");
    must(MPI_File_set_view(way.file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL), "set_view");
    MPI_Info_free(&info);
  }
  std::vector<char> data(static_cast<std::size_t>(count));
  const auto fill = [&](int round) {
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<char>(i * 7 + static_cast<std::size_t>(rank * 31 + round));
  };
  const auto move = [&](Way& way, bool write) {
    MPI_Status status;
    must(write ? (way.collective ? MPI_File_write_at_all : MPI_File_write_at)(way.file, 0, data.data(), count,
                                                                              MPI_BYTE, &status)
               : (way.collective ? MPI_File_read_at_all : MPI_File_read_at)(way.file, 0, data.data(), count,
                                                                            MPI_BYTE, &status),
         "transfer through a view");
  };
  int written = 0;  // what the file has
  for (int i = 0; i <= repeats; ++i) {
    for (const bool write : {true, false}) {
      for (std::size_t turn = 0; turn < ways.size(); ++turn) {
        Way& way = ways[(turn + static_cast<std::size_t>(i)) % ways.size()];
        if (i > 0 && !(way.name + (write ? "_write" : "_read")).starts_with(only)) continue;
        if (write) written = i;
        fill(write ? written : written + 1);
        const double before = processor_time(servers);
        const double took = timed([&] { move(way, write); });
        const double processor = processor_time(servers) - before;
        const std::vector<char> moved = data;
        fill(written);
        if (moved != data) must(MPI_ERR_IO, "wrong bytes");
        if (rank != 0 || i == 0) continue;
        std::printf("%s_%s %.9f %.0f %.9f\n", way.name.c_str(), write ? "write" : "read", took,
                    static_cast<double>(count) * size, processor);
        std::fflush(stdout);
      }
    }
  }
  MPI_Type_free(&type);
  for (Way& way : ways) MPI_File_close(&way.file);
}

// Until what removing a file leaves to be done is done, on a local file system as on Tutti.
void let_settle() {
  constexpr auto kSettle = std::chrono::milliseconds(100);
  std::this_thread::sleep_for(kSettle);
  MPI_Barrier(MPI_COMM_WORLD);
}

void fresh(const std::string& name, int repeats) {
  const int count = kBlock * kRow * kRows;
  std::vector<char> data(static_cast<std::size_t>(count), static_cast<char>(rank));
  for (int i = 0; i <= 2 * repeats + 1; ++i) {
    const bool collective = i % 2 == 0;
    const std::string path = name + "." + std::to_string(i);
    MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY);
    set_strided_view(file);
    const double took = timed([&] {
      MPI_Status status;
      must(collective ? MPI_File_write_at_all(file, 0, data.data(), count, MPI_BYTE, &status)
                      : MPI_File_write_at(file, 0, data.data(), count, MPI_BYTE, &status),
           "write a new file");
      must(MPI_File_close(&file), "close");
    });
    if (rank == 0) must(MPI_File_delete(path.c_str(), MPI_INFO_NULL), "delete");
    let_settle();
    if (rank != 0 || i < 2) continue;
    std::printf("fresh_strided_%s_write %.9f %.0f\n", collective ? "collective" : "independent", took,
                static_cast<double>(count) * size);
    std::fflush(stdout);
  }
}

void open_again(const std::string& name, int repeats) {
  constexpr int kTimes = 10;
  for (int i = 0; i <= repeats * kTimes; ++i) {
    MPI_File file = MPI_FILE_NULL;
    const double took = timed([&] { file = open_file(name, MPI_MODE_CREATE | MPI_MODE_RDWR); });
    MPI_File_close(&file);
    if (rank != 0 || i == 0) continue;
    std::printf("open_%d %.9f 0\n", size, took);
    std::fflush(stdout);
  }
}

// More ranks than cores, and daemons beside them: a rank that waits sleeps.
void barrier_asleep() {
  constexpr auto kPause = std::chrono::milliseconds(5);
  MPI_Request request = MPI_REQUEST_NULL;
  must(MPI_Ibarrier(MPI_COMM_WORLD, &request), "barrier");
  for (int done = 0;;) {
    must(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "barrier");
    if (done != 0) return;
    std::this_thread::sleep_for(kPause);
  }
}

struct Schedule {
  std::chrono::nanoseconds start, period;
};

Schedule agree_on_schedule() {
  barrier_asleep();
  std::array<std::int64_t, 2> times{};
  if (rank == 0) {
    std::printf("ready\n");
    std::fflush(stdout);
    if (!(std::cin >> times[0] >> times[1])) must(MPI_ERR_OTHER, "no start: whoever started this has ended");
  }
  barrier_asleep();
  must(MPI_Bcast(times.data(), times.size(), MPI_INT64_T, 0, MPI_COMM_WORLD), "broadcast");
  return {std::chrono::nanoseconds(times[0]), std::chrono::nanoseconds(times[1])};
}

// Whether every word is its own offset.
bool intact(const std::vector<char>& data, MPI_Offset at) {
  for (std::size_t word = 0; word + sizeof(std::uint64_t) <= data.size(); word += sizeof(std::uint64_t)) {
    std::uint64_t found = 0;
    std::memcpy(&found, data.data() + word, sizeof(found));
    if (found != static_cast<std::uint64_t>(at) + word) return false;
  }
  return true;
}

void rounds(MPI_File file, int count, int bytes, int requests) {
  using Clock = std::chrono::steady_clock;
  MPI_Offset length = 0;
  must(MPI_File_get_size(file, &length), "size");  // connections stand before the first round
  const std::size_t each = static_cast<std::size_t>(bytes);
  std::vector<char> data(each * static_cast<std::size_t>(requests));
  std::vector<MPI_Request> pending(static_cast<std::size_t>(requests));
  std::vector<MPI_Status> states(pending.size());
  std::vector<double> seconds;
  const Schedule schedule = agree_on_schedule();
  for (int round = 0; round < count; ++round) {
    const Clock::time_point due(schedule.start + schedule.period * round);
    std::this_thread::sleep_until(due);
    const MPI_Offset at = (static_cast<MPI_Offset>(round) * size + rank) * bytes * requests;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      must(MPI_File_iread_at(file, at + static_cast<MPI_Offset>(i * each), data.data() + i * each, bytes,
                             MPI_BYTE, &pending[i]),
           "read");
    }
    must(MPI_Waitall(requests, pending.data(), states.data()), "read");
    seconds.push_back(std::chrono::duration<double>(Clock::now() - due).count());
    for (const MPI_Status& state : states) {
      int got = 0;
      must(MPI_Get_count(&state, MPI_BYTE, &got), "count");
      if (got != bytes) must(MPI_ERR_IO, "read: the file is too short");
    }
    if (!intact(data, at)) must(MPI_ERR_IO, "read: wrong bytes");
    barrier_asleep();
  }
  std::vector<double> last(seconds.size());
  must(MPI_Reduce(seconds.data(), last.data(), count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD), "reduce");
  if (rank != 0) return;
  for (const double time : last) std::printf("%.9f ", time);
  std::printf("\n");
}

// Whether somebody has said so. Takes the place of a barrier; a rank that waits sleeps, as above, but not for long.
bool any_says(bool own) {
  constexpr auto kPause = std::chrono::microseconds(100);
  int said = own ? 1 : 0;
  int any = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  must(MPI_Iallreduce(&said, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request), "agree");
  for (int done = 0;;) {
    must(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "agree");
    if (done != 0) return any != 0;
    std::this_thread::sleep_for(kPause);
  }
}

void forward(MPI_File file, int milliseconds, int bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr int kStep = 100;  // milliseconds
  MPI_Offset length = 0;
  must(MPI_File_get_size(file, &length), "size");  // connections stand before the first read
  const auto steps = static_cast<std::size_t>(milliseconds / kStep + 1);
  std::vector<double> moved(steps);
  std::vector<double> longest(steps);
  std::vector<char> data(static_cast<std::size_t>(bytes));
  std::int64_t start = 0;
  barrier_asleep();
  if (rank == 0) {
    std::printf("ready\n");
    std::fflush(stdout);
    if (!(std::cin >> start)) must(MPI_ERR_OTHER, "no start: whoever started this has ended");
  }
  barrier_asleep();
  must(MPI_Bcast(&start, 1, MPI_INT64_T, 0, MPI_COMM_WORLD), "broadcast");
  const Clock::time_point begin{std::chrono::nanoseconds(start)};
  std::this_thread::sleep_until(begin);
  MPI_Offset at = static_cast<MPI_Offset>(rank) * bytes;
  for (bool over = false; !over; at += static_cast<MPI_Offset>(size) * bytes) {
    if (at + bytes > length) must(MPI_ERR_IO, "read: the file is too short");
    const auto before = Clock::now();
    MPI_Status status;
    must(MPI_File_read_at(file, at, data.data(), bytes, MPI_BYTE, &status), "read");
    int got = 0;
    must(MPI_Get_count(&status, MPI_BYTE, &got), "count");
    if (got != bytes) must(MPI_ERR_IO, "read: too few bytes");
    const auto now = Clock::now();
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now - begin).count();
    const std::size_t step = std::min(static_cast<std::size_t>(passed / kStep), steps - 1);
    moved[step] += bytes;
    longest[step] = std::max(longest[step], std::chrono::duration<double, std::milli>(now - before).count());
    over = any_says(passed >= milliseconds);
  }
  const int count = static_cast<int>(steps);
  std::vector<double> all(steps);
  std::vector<double> most(steps);
  must(MPI_Reduce(moved.data(), all.data(), count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD), "reduce");
  must(MPI_Reduce(longest.data(), most.data(), count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD), "reduce");
  if (rank != 0) return;
  for (const double each : all) std::printf("%.0f ", each);
  std::printf("\n");
  for (const double each : most) std::printf("%.3f ", each);
  std::printf("\n");
}

void write_posix(const std::string& name, const std::vector<char>& data) {
  const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  bool written = fd >= 0;
  constexpr std::size_t kCall = 1U << 20U;
  for (std::size_t done = 0; written && done < data.size(); done += kCall) {
    const std::size_t length = std::min(kCall, data.size() - done);
    written = ::write(fd, data.data() + done, length) == static_cast<ssize_t>(length);
  }
  if (!written || ::close(fd) != 0) must(MPI_ERR_IO, ("write " + name).c_str());
}

void write_mpi(const std::string& name, const std::vector<char>& data) {
  MPI_File file = open_file(name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  const auto length = static_cast<int>(data.size());
  must(MPI_File_write_at_all(file, static_cast<MPI_Offset>(rank) * length, data.data(), length, MPI_BYTE,
                             MPI_STATUS_IGNORE),
       "write");
  must(MPI_File_close(&file), "close");
}

void checkpoints(bool mpi, const std::string& name, int times, int bytes, int compute) {
  using Clock = std::chrono::steady_clock;
  std::int64_t start = 0;
  if (rank == 0) {
    std::printf("ready\n");
    std::fflush(stdout);
    if (!(std::cin >> start)) MPI_Abort(MPI_COMM_WORLD, 4);
  }
  must(MPI_Bcast(&start, 1, MPI_INT64_T, 0, MPI_COMM_WORLD), "broadcast");
  std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(start)));
  const std::vector<char> data(static_cast<std::size_t>(bytes), static_cast<char>('a' + rank));
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(compute));
    // Each a new file; the one before goes when it is there.
    const auto file_of = [&](int number) {
      return name + "." + std::to_string(number) + (mpi ? "" : "." + std::to_string(rank));
    };
    barrier_asleep();
    const auto before = Clock::now();
    if (mpi) {
      write_mpi(file_of(i), data);
    } else {
      write_posix(file_of(i), data);
    }
    barrier_asleep();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - before).count());
    if (i > 0 && (rank == 0 || !mpi)) ::unlink(file_of(i - 1).c_str());
    if (i + 1 == times && (rank == 0 || !mpi)) ::unlink(file_of(i).c_str());
  }
  if (rank != 0) return;
  for (const double time : seconds) std::printf("%.9f ", time);
  std::printf("\n");
}

std::vector<int> numbers_of(std::string text) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(text);
  return {std::istream_iterator<int>(words), std::istream_iterator<int>()};
}

// The demonstration program of the paper on resonant I/O.
void demo(MPI_File file, int calls, int segment) {
  constexpr int kSegments = 4;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  must(MPI_Type_vector(kSegments, segment, segment * size, MPI_BYTE, &type), "vector");
  must(MPI_Type_commit(&type), "commit");
  must(MPI_File_set_view(file, static_cast<MPI_Offset>(rank) * segment, MPI_BYTE, type, "native",
                         MPI_INFO_NULL),
       "set_view");
  MPI_Type_free(&type);
  std::vector<char> data(static_cast<std::size_t>(segment) * kSegments);
  const int count = segment * kSegments;
  bool right = true;
  const double took = timed([&] {
    for (int call = 0; call < calls; ++call) {
      MPI_Status status;
      must(MPI_File_read_at_all(file, static_cast<MPI_Offset>(call) * count, data.data(), count, MPI_BYTE,
                                &status),
           "read");
      for (int i = 0; i < kSegments; ++i) {
        const MPI_Offset at = ((static_cast<MPI_Offset>(call) * kSegments + i) * size + rank) * segment;
        std::uint64_t found = 0;
        std::memcpy(&found, data.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(segment),
                    sizeof(found));
        right = right && found == static_cast<std::uint64_t>(at);
        const std::vector<char> last(data.begin() + static_cast<std::ptrdiff_t>(i + 1) * segment - 8,
                                     data.begin() + static_cast<std::ptrdiff_t>(i + 1) * segment);
        right = right && intact(last, at + segment - 8);
      }
    }
  });
  if (!right) must(MPI_ERR_IO, "read: wrong bytes");
  if (rank == 0) std::printf("demo %.9f %.0f\n", took, static_cast<double>(count) * calls * size);
}

void run(int argc, char** argv) {
  const std::string pattern = argc > 1 ? argv[1] : "";
  const int repeats = argc > 3 ? std::atoi(argv[3]) : 0;
  if (pattern == "fresh" && argc == 4) return fresh(argv[2], repeats);
  if (pattern == "checkpoints" && argc == 7) {
    return checkpoints(std::strcmp(argv[2], "mpi") == 0, argv[3], std::atoi(argv[4]), std::atoi(argv[5]),
                       std::atoi(argv[6]));
  }
  if (pattern == "open" && argc == 4) return open_again(argv[2], repeats);
  if (pattern == "views" && argc == 6) return views(argv[2], repeats, numbers_of(argv[4]), argv[5]);
  if (pattern == "demo" && argc == 5) {
    MPI_File file = open_file(argv[2], MPI_MODE_RDONLY);
    demo(file, repeats, std::atoi(argv[4]));
    MPI_File_close(&file);
    return;
  }
  if (pattern == "forward" && argc == 5) {
    MPI_File file = open_file(argv[2], MPI_MODE_RDONLY);
    forward(file, repeats, std::atoi(argv[4]));
    MPI_File_close(&file);
    return;
  }
  const bool reads = pattern == "rounds" && argc == 6;
  if (!reads && ((pattern != "contiguous" && pattern != "strided") || argc != 4)) {
    must(MPI_ERR_ARG,
         "usage: contiguous|strided|fresh|open FILE REPEATS, views FILE REPEATS PIDS ONLY, demo FILE CALLS "
         "SEGMENT, forward FILE MILLISECONDS BYTES, or "
         "rounds FILE ROUNDS BYTES REQUESTS");
  }
  MPI_File file = open_file(argv[2], reads ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_RDWR);
  if (reads) {
    rounds(file, repeats, std::atoi(argv[4]), std::atoi(argv[5]));
  } else if (pattern == "contiguous") {
    contiguous(file, repeats);
  } else {
    strided(file, repeats);
  }
  MPI_File_close(&file);
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // never outlives its launcher
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  run(argc, argv);
  MPI_Finalize();
  return 0;
}
