// Jobs that compute and checkpoint, as the paper's generator makes them, and the queue that starts them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/units.h"

namespace tutti::gatelab {

struct JobSpec {
  std::string name;
  Nanos compute;  // before each checkpoint
  Bytes checkpoint;
  std::uint32_t checkpoints = 1;
  std::uint32_t cores = 16;
  Nanos start;  // is submitted then
  std::vector<std::uint32_t> servers = {0};
  Nanos wall_limit = Nanos::max();  // ended after so long
  bool gated = true;                // false: an intruder that knows nothing of the gate
};

// Each value is uniform between the two, both included. Sizes and computing are of the whole job.
struct MixRanges {
  Nanos compute_low = 420_s;
  Nanos compute_high = 540_s;
  std::uint32_t checkpoints_low = 4;
  std::uint32_t checkpoints_high = 10;
  Bytes written_low = Bytes(2'000'000'000);
  Bytes written_high = Bytes(2'800'000'000);
  std::uint32_t cores_low = 16;
  std::uint32_t cores_high = 16;
  Nanos start_low;
  Nanos start_high = 60_s;
};

std::vector<JobSpec> random_mix(std::uint32_t jobs, const MixRanges& ranges, Random random);

// First come, first served with backfilling (EASY): a job that does not fit has a reservation for the earliest moment at which
// it will by the wall-time limits of those that run, and later ones go before it only where they do not delay it.
class BatchQueue {
 public:
  explicit BatchQueue(std::uint32_t nodes) : free_(nodes), nodes_(nodes) {}

  // A job that wants more nodes than there are waits for ever.
  void submit(std::uint64_t job, std::uint32_t nodes, Nanos wall_limit);
  void ended(std::uint64_t job);
  // The jobs to be started now, in order; they count as running from then on.
  std::vector<std::uint64_t> start(Nanos now);

  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::uint32_t free() const { return free_; }

 private:
  struct Waiting {
    std::uint64_t job = 0;
    std::uint32_t nodes = 0;
    Nanos wall_limit;
  };
  struct Running {
    std::uint32_t nodes = 0;
    Nanos end;  // at the latest
  };
  void begin(const Waiting& job, Nanos now, std::vector<std::uint64_t>& started);

  std::uint32_t free_;
  std::uint32_t nodes_;
  std::vector<Waiting> waiting_;
  std::map<std::uint64_t, Running> running_;
};

}  // namespace tutti::gatelab
