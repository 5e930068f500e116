// Chooser: finds out which of several policies serves the present load best, by trying. Pure.
//
// For whoever waits, a policy is as good as the time that applications spend waiting for the bytes they get. By Little's law
// that is (applications that wait for any server, on average) / (bytes per second): the cost. It counts whole applications,
// so it sees what no single server can: that an application waits for its slowest server.
//
// One choice holds. Now and then another one is tried: the two take turns, block by block, until it is clear which is better
// (the mean of the pairs' ratios against its standard error), at most kMostPairs times. One that is better by kMargin takes its
// place. After a trial that was lost, also by the one that held before it, the next one of that choice waits kGrowth times as long as
// before. A trial needs two applications
// that wait: with one the order hardly matters.
//
// What that costs, against the best fixed choice in hindsight. Say a trial lets the other choice serve for a time R (kMostPairs
// blocks at most, and three where it is much worse), there are n choices, none costs more than c times the one that holds, and
// the load does not change. In a time T each of the others has at most 1 + log(1 + T / kFirstGap) / log(kGrowth) lost trials until its gap is
// kLongestGap, and then one in each of those; a lost trial costs at most (c - 1) R. If another choice is best, it is found after
// kFirstGap and a trial of each of the others. So the regret grows with the logarithm of T, and then by (n - 1) (c - 1) R /
// kLongestGap. Where the load changes at will no such bound exists: with switching costs an adversary can force a regret of
// order T^(2/3) on anybody (Dekel, Ding, Koren and Peres, 2014). kLongestGap bounds how long a change goes unnoticed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "policy/request/advice.h"

namespace tutti {

class Chooser {
 public:
  static constexpr Nanos kFirstGap = 8_s;
  static constexpr Nanos kLongestGap = 600_s;
  static constexpr int kGrowth = 3;
  static constexpr Nanos kShortestBlock = 600_ms;
  static constexpr Nanos kLongestBlock = 4_s;
  static constexpr std::size_t kFewestPairs = 3;
  static constexpr std::size_t kMostPairs = 10;
  static constexpr double kMargin = 0.05;

  explicit Chooser(std::size_t choices);

  // The cluster at a moment, from the servers' reports. Totals since some time; they may begin anew.
  struct Sample {
    std::uint32_t applications = 0;  // that wait for any server
    std::uint64_t present = 0;       // requests in line or in service
    std::uint64_t requests = 0;      // served in all
    Bytes bytes;                     // in all
  };
  // A plan that is to be told, if something changes. `now` on any clock that goes forward; the plan is on the same one.
  std::optional<std::vector<PlanStep>> take(const Sample& sample, Nanos now);

  // The next sample cannot be compared with the last one.
  void interrupt() { previous_.reset(); }

  [[nodiscard]] std::size_t choice() const { return choice_; }
  [[nodiscard]] std::uint64_t trials() const { return trials_; }

 private:
  enum class Verdict : std::uint8_t { open, won, lost };
  struct Block {
    double waited = 0;  // applications times seconds
    Bytes bytes;
    [[nodiscard]] double cost() const {
      return bytes > Bytes() ? waited / static_cast<double>(bytes.count()) : 0;
    }
  };

  void measure(const Sample& sample, Nanos now);
  [[nodiscard]] std::optional<std::size_t> due() const;
  std::vector<PlanStep> begin_trial(std::size_t challenger, Nanos now);
  // When a trial's present block is over.
  std::optional<std::vector<PlanStep>> end_block(Nanos now);
  [[nodiscard]] Verdict judge() const;
  std::vector<PlanStep> end_trial(bool won, Nanos now);

  std::size_t choice_ = 0;
  std::vector<Nanos> gaps_;  // by choice: so much busy time until its next trial,
  std::vector<Nanos> last_;  // of busy_ at its last one
  Nanos busy_;               // time in which a trial would have told something
  std::uint64_t trials_ = 0;

  bool trying_ = false;
  std::size_t challenger_ = 0;
  Nanos length_;  // of a block
  Nanos begin_;   // of the present one
  std::vector<Block>
      blocks_;  // of the one that holds and of the challenger, in turns; the last is the present one
  std::vector<double> ratios_;  // logarithms of the challenger's cost over the other's, by pair

  std::optional<Sample> previous_;
  Nanos sampled_;
  double residence_ = 0;  // seconds that a request is there, smoothed
};

}  // namespace tutti
