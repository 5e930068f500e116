// The testbed of paper 3 (section IV), the same for all its experiments, and the programs that run on it.
//
// Six data servers of 1 GiB page cache with a Barracuda 7200.10 of 150 GB each, files on its inner tracks from 73 % on, CFQ over the
// disk's own queue, Gigabit Ethernet, six compute nodes; a program's five processes are on five of them. PVFS2 2.8.1 serves 16
// operations at a time and each by a new thread, so what CFQ takes for a stream ends with the operation; it moves large requests
// in buffers of 256 KiB, eight at a time to each server, and lists of at most 64 extents. Read-ahead 128 KiB in two windows, as Linux had it before
// 2.6.23, dirty ratios 10 and 40 %. Caches are cold. The disk serves what has passed under its heads from its own cache
// (HddParameters::reads_from_cache): without that one program alone, whose processes do not wait for each other, would read 35 MB/s.
//
// Files lie at full length, one behind the other. A run ends after some virtual seconds: what is measured is the bytes that servers
// moved from `warm` on; a program that writes is measured from its start to the end of the sync behind its last write.
// Barriers and collective calls cost messages, up to 100 us until the process runs, as on the testbed of paper 4, which is the same
// kind of node. Servers have a processor that handles one request after the other (PVFS2's server is one thread).
//
// What the paper does not state, and is assumed: noncontig's elmtcount (1024, 4 KiB), the unit of hpio's spacing (bytes), that ROMIO reads
// what is not contiguous by lists, a sync at the end of writing programs, barriers in figures 8 and 9, that programs write to files that
// exist (a page that is written in part is read first).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "env/sim/device/parameters.h"
#include "env/sim/store/device_store.h"
#include "lab/experiments/experiment.h"

namespace tutti {
class SimCluster;
struct SimClusterOptions;
}  // namespace tutti

namespace tutti::orchestra {

inline constexpr std::uint32_t kServers = 6;
inline constexpr std::uint32_t kNodes = 6;
inline constexpr std::uint32_t kProcesses = 5;
inline constexpr Bytes kFile = Bytes(10'000'000'000);

enum class Benchmark : std::uint8_t {
  mpi_io_test,   // 64 KiB of each process in turn
  ior,           // each process its fifth of the file, 64 KiB at a time
  noncontig_c,   // 8 MB a call, one behind the other
  noncontig_nc,  // 8 MB a call, of a column of 4 KiB
  hpio_c,        // 4,096 regions of 64 KiB, one behind the other
  hpio_nc,       // the same as a column, 10 bytes between regions
  tile,          // 8 KiB of each process in turn, 64 bytes overlap
};
std::string_view benchmark_name(Benchmark benchmark);
inline constexpr Benchmark kAllBenchmarks[] = {
    Benchmark::mpi_io_test, Benchmark::ior,     Benchmark::noncontig_c, Benchmark::noncontig_nc,
    Benchmark::hpio_c,      Benchmark::hpio_nc, Benchmark::tile};

struct ProgramSpec {
  Benchmark benchmark = Benchmark::mpi_io_test;
  bool write = false;
  bool barrier = true;
  bool collective = false;
  Bytes file = kFile;
  Bytes request;              // not 0: instead of the benchmark's
  Nanos think;                // of each process between calls
  std::string path;           // empty: a file of its own
  double begins = 0;          // at this part of the file
  Nanos ends = Nanos::max();  // it dies then
};

// A point of an experiment under one policy.
struct RunSpec {
  std::string policy = "fcfs";
  std::vector<ProgramSpec> programs;
  Bytes read_ahead = 128_KiB;
  ReadAheadKind read_ahead_kind = ReadAheadKind::two_windows;  // Linux 2.6.21
  StreamKind stream = StreamKind::operation;
  Bytes gap;  // between files, on each disk
  std::uint64_t seed = 1;
  Nanos warm = 3_s;
  Nanos length = 10_s;
  std::function<void(SimClusterOptions&)> change;  // of the cluster, for other devices
  std::function<void(SimCluster&, Nanos)> watch;   // called every 100 ms
};

struct ProgramOutcome {
  std::uint64_t id = 0;
  double rate = 0;            // bytes per second
  std::vector<double> times;  // seconds of each call of a process that ended
  double eligible = 0;        // part of the windows in which it had a slice of its own
  double part = 0;            // mean part of those windows
};
// Of one data server, from `warm` on.
struct ServerOutcome {
  double busy = 0;   // seconds
  double bytes = 0;  // of the device
  double jumps = 0;
  double distance = 0;  // bytes, of a jump
  double expected = 0;  // seconds: bytes / rate + jumps * (seek + half a turn)
  double running = 0;   // SL_i as the server measured it, bytes
  Bytes first, last;    // addresses of the objects
};
struct RunOutcome {
  double rate = 0;
  double seconds = 0;
  std::vector<ProgramOutcome> programs;
  std::vector<ServerOutcome> servers;
  double predicted = 0;                        // by the orchestrator, before slices held
  double with_slices = 0, without_slices = 0;  // bytes of a window, as its trial measured last
  double drain = 0;                            // seconds of a switch, mean
  std::uint64_t switches = 0;
  std::string addresses;  // of each object on server 0
  std::uint64_t events = 0;
};

Result<RunOutcome> run_once(const RunSpec& spec);
// Runs all, several at a time, in their order.
Result<std::vector<RunOutcome>> run_all(const std::vector<RunSpec>& specs, const ExperimentOptions& options);

// The columns that every point has.
// `kPaper` is orchestrated service as the paper has it: gains are its. `kSliced` is our default, which has trials and fetches ahead: it is
// what must not lose against the first three.
enum Column : std::size_t { kFcfs, kReadAhead, kWindow, kPaper, kSliced, kColumns };
std::string_view column_name(std::size_t column);
std::string policy_of(std::size_t column);
std::string orchestrated(std::string_view parameters = {});
// The same as the paper has it: three conditions, idle servers wait, nothing is fetched ahead.
std::string as_the_paper(std::string_view parameters = {});
// The same point in a column.
RunSpec in_column(RunSpec spec, std::size_t column);

std::string settings(std::size_t seeds, const RunSpec& like);

// Points, each in all columns and with several seeds.
class Points {
 public:
  Points(const ExperimentOptions& options, std::size_t seeds) : options_(options), seeds_(seeds) {}
  // Returns the number of the point. `seeds`: at least so many, where runs differ more than elsewhere.
  std::size_t add(Json parameters, const RunSpec& spec, std::size_t seeds = 0);
  // A single column.
  std::size_t add_one(Json parameters, const RunSpec& spec);
  Status run();

  struct Cell {
    std::size_t point = 0;
    std::size_t column = 0;  // kColumns: it has a name in its parameters
    std::vector<RunOutcome> outcomes;
    [[nodiscard]] double rate() const;
    [[nodiscard]] double deviation() const;
    [[nodiscard]] double eligible() const;  // of its programs, mean
  };
  [[nodiscard]] const Cell& cell(std::size_t point, std::size_t column = 0) const;
  // How much faster the paper's column is than the first.
  [[nodiscard]] double gain(std::size_t point) const;
  // Of all points that have columns: orchestrated over the best other one, with all of them and with those of the same read-ahead.
  [[nodiscard]] double never_loses() const;
  [[nodiscard]] double never_loses_same_read_ahead() const;
  // Busy time of the servers over what bytes and jumps explain: the farthest from 1 of all cells of reads.
  [[nodiscard]] double first_principles() const;
  [[nodiscard]] Json rows() const;
  [[nodiscard]] std::size_t seeds() const { return seeds_; }

 private:
  void add_cell(std::size_t point, std::size_t column, const RunSpec& spec, std::size_t seeds);
  [[nodiscard]] double worst_ratio(bool same_read_ahead) const;
  const ExperimentOptions& options_;
  std::size_t seeds_;
  std::vector<Json> parameters_;
  std::vector<RunSpec> specs_;
  std::vector<std::size_t> cell_of_;  // of each of these
  std::vector<Cell> cells_;
};

}  // namespace tutti::orchestra
