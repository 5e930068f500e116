// Workers of `tutti bench`: processes that do raw and Tutti transfers on command, so that both are measured
// by the same program, in turns.
//
// A worker prints "ready", then reads commands from standard input and answers each with one line:
//   transfer raw|tcp|tcp_file|tutti read|write SIZE PASSES
//                        nanoseconds it took to go PASSES times through its part of the file
//   fresh raw|tutti SIZE nanoseconds it took to write a new file as long as its part, in transfers of SIZE bytes
//   discard              removes the new file; answers 0
//   random COUNT         nanoseconds of time and of CPU for so many random 4 KiB reads
//   latency COUNT        p50 and p99 of so many 4 KiB reads, in nanoseconds
//   pingpong COUNT CPU   p50 and p99 of a bare Unix-socket round trip with a child on that CPU
//   names raw|tutti create|stat|unlink COUNT SIZE
//                        nanoseconds it took to make COUNT files of SIZE bytes in the shared directory, to ask for those
//                        of the next worker, or to remove its own
//   pin CPU              stays on that CPU from now on; answers 0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/command.h"

namespace tutti::cli {

struct BenchWorkerOptions {
  std::string raw;           // a file of the local file system
  std::string path;          // a file of the cluster
  std::uint64_t offset = 0;  // the worker's part of both
  std::uint64_t length = 0;
  std::uint64_t workers = 1;  // how many there are; each has a part of the same length
};

int run_bench_worker(const Globals& globals, const BenchWorkerOptions& options);

// Where the files of `names` are, beside the file that the workers share.
std::string names_directory(const std::string& path);

// Keeps a process (0: this one) on one CPU.
Status pin_process(pid_t pid, int cpu);
// Of at least one value.
double median(std::vector<double> values);

// The parent's side.
class BenchWorkers {
 public:
  // `count` workers that share a file of `size` bytes evenly.
  static Result<BenchWorkers> start(const std::string& directory, const std::string& raw,
                                    const std::string& path, std::uint64_t size, std::size_t count);
  // Gives the first `active` workers the same command at the same time; the numbers they answer, a row each.
  Result<std::vector<std::vector<double>>> ask(const std::string& command, std::size_t active);

 private:
  std::vector<std::unique_ptr<Child>> children_;
};

}  // namespace tutti::cli
