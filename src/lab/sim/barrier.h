// Barrier: the ranks of a simulated program wait for each other, as MPI_Barrier does. One thread; must outlive its waiters.
//
// By dissemination: in round r rank i tells rank i + 2^r and waits for rank i - 2^r, ceil(log2 ranks) rounds. A message takes
// a latency and both ends' cost, plus jitter. MPI polls, so nobody has to be woken. The messages are too small to fill a
// card, so they share none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "env/clock.h"
#include "env/sim/network/nic.h"
#include "env/sync.h"

namespace tutti {

class Barrier {
 public:
  Barrier(Executor& executor, std::size_t ranks, const NicModel& nic, Random random);

  // Ends when all ranks have called it and heard of each other, then counts anew. `clock` is the rank's.
  Task<void> arrive(std::size_t rank, Clock& clock);

 private:
  struct Round {
    Round(Executor& executor, std::size_t ranks) : all(executor), times(ranks) {}
    Event all;
    std::vector<Nanos> times;  // of arrival, then of leaving
  };
  void disseminate(std::vector<Nanos>& times);

  Executor& executor_;
  std::size_t ranks_;
  Nanos message_;
  Nanos jitter_;
  Random random_;
  std::size_t arrived_ = 0;
  std::shared_ptr<Round> round_;
};

}  // namespace tutti
