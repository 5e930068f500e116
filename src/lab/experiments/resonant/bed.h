// The testbed of the paper on resonant I/O (section 4), the same for all its experiments, and what they share.
//
// 4 clients and 4 servers, Gigabit Ethernet, a SATA disk of 80 GB in each server (share/devices/hdd-80gb.toml), 64 KiB stripes,
// cold caches. A message waits 0 to 100 us for its process: the paper finds that 0.1 ms between two requests keeps their order.
// Processes start within 200 us. MPI ranks poll, so what they tell each other does not wait; it costs messages on the same
// cards. Files lie in the outer fifth of the disks, which are nearly empty. Writes go
// back from the page cache.
//
// The letter baseline is the paper's platform: PVFS2 2.6.3 serves the requests of an object one by one (`fcfs_serial`), and
// ROMIO aggregates only where the ranges of ranks interleave, with buffers of 4 MB; the servers' kernel is Linux 2.6.21. The
// letter of resonant I/O: agents read to the end, all synchronize, each rank reads its own from the servers' memory, agents too;
// groups are serialized. The letter's servers have the processor of pentium.h. Users have a kernel of today, and processors that cost
// nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lab/experiments/experiment.h"
#include "lab/scenario/scenario.h"

namespace tutti::resonance {

// Of the servers. 2.6.21 is the paper's: CFQ, read-ahead by two windows, dirty ratios 10 and 40 %.
enum class Kernel : std::uint8_t { today, linux_2_6_21 };

// A way to do collective calls: the plan and what stands under it.
struct Way {
  std::string plan;  // of policy/collective; empty: no collective calls
  std::string policy;
  Bytes buffer = 16_MiB;  // cb_buffer_size
  Kernel kernel = Kernel::today;
};

// The paper's own, without and with resonance.
Way letter_two_phase();
Way letter_independent();
Way letter_resonant();

// What users have: the better of these is what a plan is compared with.
std::vector<Way> users_baselines(bool rotational);
// Every plan there is, by the default policy.
std::vector<Way> every_plan(bool rotational);
std::string default_policy(bool rotational);

std::string name_of(const Way& way);

// A program and its calls: what a figure of the paper varies.
struct Load {
  std::uint32_t processes = 4;
  AccessPattern pattern = AccessPattern::tiles;
  Bytes piece = 64_KiB;
  Bytes request;  // of a process in a call
  std::uint32_t columns = 0;
  Bytes file;  // bytes in all; whole calls
  bool write = false;
  bool sync = false;
  Nanos think;
};

// The paper's programs. `file` of 0: as many bytes as the paper has.
Load demo(std::uint32_t processes, Bytes segment, Bytes file);
// Its independent form: one call for each segment.
Load demo_apart(std::uint32_t processes, Bytes segment, Bytes file);
Load mpi_io_test(std::uint32_t processes, Bytes segment, Bytes file);
Load ior(Bytes segment, Bytes file);
Load noncontig(Bytes piece, Bytes file);
Load hpio(Bytes region, std::uint64_t regions);
Load coll_perf(std::uint64_t edge);

enum class Machine : std::uint8_t { small_hdd, hdd, ssd, nvme, memory };
std::string_view machine_name(Machine medium);
bool rotational(Machine medium);

struct Bed {
  std::uint32_t servers = 4;
  Machine medium = Machine::small_hdd;
  Nanos wake_jitter = 100_us;
  Bytes page_cache = 768_MiB;  // of 1 GB
  Bytes read_ahead = 128_KiB;
  Bytes extent = 128_MiB;   // in which objects lie together on the disk,
  bool fragmented = false;  // and these anywhere
  bool pentium = true;      // with the paper's kernel; otherwise processors cost nothing
};

Scenario make(const Bed& bed, const Way& way, const std::vector<Load>& loads, std::uint64_t seed);
inline Scenario make(const Bed& bed, const Way& way, const Load& load, std::uint64_t seed) {
  return make(bed, way, std::vector<Load>{load}, seed);
}

// Points, each with several seeds; results are megabytes (10^6) per second of each program.
class Points {
 public:
  Points(const ExperimentOptions& options, std::size_t seeds) : options_(options), seeds_(seeds) {}

  // Returns its number.
  std::size_t add(Json parameters, const std::function<Scenario(std::uint64_t seed)>& make);
  std::size_t add(Json parameters, const Bed& bed, const Way& way, const Load& load);
  Status run();

  // Mean over the seeds.
  [[nodiscard]] double rate(std::size_t point, std::size_t program = 0) const;
  // Jumps of a server's heads in one call of the first program.
  [[nodiscard]] double jumps(std::size_t point) const;
  // Requests that a server got in one call of the first program.
  [[nodiscard]] double requests(std::size_t point) const;
  [[nodiscard]] Json rows() const;
  [[nodiscard]] std::size_t seeds() const { return seeds_; }

 private:
  struct Sample {
    Json parameters;
    std::vector<std::vector<double>> rates;  // by seed and program
    std::vector<double> jumps;
    std::vector<double> requests;
  };
  const ExperimentOptions& options_;
  std::size_t seeds_;
  std::vector<Scenario> scenarios_;
  std::vector<Sample> samples_;
};

std::string settings(std::size_t seeds);

// A load under the two plans, the letter of both or two of a user's; and what resonance gains.
struct Pair {
  std::size_t without = 0;
  std::size_t with = 0;
};
inline double gain(const Points& points, const Pair& pair) {
  return points.rate(pair.with) / points.rate(pair.without) - 1;
}
Pair add_letter(Points& points, const Json& parameters, const Load& load, const Bed& bed = {});

}  // namespace tutti::resonance
