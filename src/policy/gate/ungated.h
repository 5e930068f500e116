// Ungated: the jobs as they would do without a gate, beside what happens. Pure.
//
// In that world everybody who asks writes at once, and those who write share the rate of so many evenly. A job computes there for
// as long as it did here, writes as much, and asks again when that is over: on its own time, not when it asks here. That matters
// more than it seems. Jobs whose intervals differ a little meet, and without a gate they slide through each other: a few slow
// checkpoints, then none for long. Where the faster waits for the slower it is late by the difference and meets it again, every
// time. A reckoning of single checkpoints does not see that; this one does.
//
// The job here and there may be apart: there it is at most one checkpoint ahead, and drops what it is behind by more than kBehind.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/units.h"
#include "policy/gate/rates.h"

namespace tutti::gate {

class Ungated {
 public:
  static constexpr std::uint64_t kBehind = 8;
  static constexpr double kMemory = 0.98;  // what a checkpoint counts when the next is over

  explicit Ungated(const Rates& rates) : rates_(rates) {}

  // Here it asks, for the first time or again.
  void ask(std::uint64_t job, double size, Nanos now);
  // Here its checkpoint has ended.
  void end(std::uint64_t job, Nanos now);
  // Rates have turned out to be others: what was reckoned is forgotten, and all begin again from where they are here.
  void restart(Nanos now);
  // It is not there any more.
  void leave(std::uint64_t job, Nanos now);

  // Seconds of a checkpoint there, mean over the last; 0 before one has ended.
  [[nodiscard]] double mean(std::uint64_t job) const;
  [[nodiscard]] std::size_t writing() const { return writing_.size(); }

 private:
  enum class Phase : std::uint8_t { idle, computing, writing };
  struct Job {
    Phase phase = Phase::idle;
    double size = 0;
    double compute = -1;  // seconds; below 0: not known
    Nanos ended;          // here
    bool writes = false;  // here
    std::uint64_t asked = 0;
    std::uint64_t done = 0;
    Nanos began;
    double tag = 0;
    Nanos due;
    double seconds = 0;  // of checkpoints, and how many: both fade
    double count = 0;
  };

  void run(Nanos now);
  void begin(std::uint64_t name, Job& job, Nanos when);
  void finish(std::uint64_t name, Job& job, Nanos when);

  const Rates& rates_;
  std::map<std::uint64_t, Job> jobs_;
  std::set<std::pair<double, std::uint64_t>> writing_;   // by tag
  std::set<std::pair<Nanos, std::uint64_t>> computing_;  // by the end of it
  double attained_ = 0;                                  // by each writer, since the beginning
  Nanos now_;
};

}  // namespace tutti::gate
