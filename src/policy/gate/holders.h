// Holders: how many writers one resource feeds, learned from what they wrote in which time; and whether waiting pays. Pure.
//
// What is learned. rate(n) is what n writers move together, bytes per second. A writer that ends tells how much it wrote; that
// is compared with what the rates so far say of the numbers of writers beside which it wrote, and the rates at those
// numbers are corrected. `most()`, the k of the lock table, is the least number of writers whose rate is within kMargin of the
// best that was seen; numbers of which little was seen count as somewhat better than they look (kBonus), so that a wrong first
// impression is corrected. More than were ever seen are taken to write as fast, each, as the most that were: where that makes waiting
// not pay, they write, and are seen. Fewer are tried where they may do: one alone, before anything is known; the least number
// that could reach the best rate if each wrote as fast as one alone. Now and then, ever more rarely, one more is let in, in case
// something has changed.
//
// Whether waiting pays. Beside what happens, Holders keeps account of what would happen without a gate: all who ask write at
// once and share rate(n) evenly (the *ungated* world). A job's demand stays there until it would have ended, or the job asks
// again. A job waits only if it will then end not much later than there. As in the
// Fair Sojourn Protocol (Friedman and Henderson, 2003) those who wait go in the order in which they would end there, so
// that small ones do not wait for large ones; one for whom waiting does not pay writes beside the holders, as it would
// without a gate. So nobody loses by the gate in the mean, but for wrong sizes and what is tried.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/units.h"

namespace tutti::gate {

class Holders {
 public:
  static constexpr double kMargin = 0.05;
  static constexpr double kBonus = 0.3;           // over the root of the writers' worth of measurement
  static constexpr std::size_t kRemembered = 48;  // writers that ended last, of which the rates are made
  static constexpr std::uint32_t kMost = 64;      // writers beyond count as so many
  static constexpr std::uint32_t kUnlimited = 1U << 30U;
  static constexpr std::uint64_t kFirstTrial =
      16;  // ends until one more is tried; then kTrialGrowth times as many
  static constexpr std::uint64_t kTrialGrowth = 4;

  // `writer` asks; it is in the ungated world from now on. `expected`: what it will write, 0 if not known.
  void ask(std::uint64_t writer, std::uint64_t job, Bytes expected, Nanos now);
  // It writes from now on. Asked before.
  void begin(std::uint64_t writer, Nanos now);
  // It has ended, after it wrote so much (0: nothing can be learned from it), or gives up waiting.
  void end(std::uint64_t writer, Bytes written, Nanos now);

  // k.
  [[nodiscard]] std::uint32_t most() const;
  [[nodiscard]] std::uint32_t writing() const { return static_cast<std::uint32_t>(writing_); }

  // What n writers move together, bytes per second: measured, or from the nearest number that was; 0 before anything was.
  [[nodiscard]] double rate(std::uint32_t n) const;
  [[nodiscard]] bool measured(std::uint32_t n) const;

  // The place of a writer in the order in which they would end without a gate: the lowest is the first.
  [[nodiscard]] double ungated_tag(std::uint64_t writer) const;
  // When it would end without a gate, if nobody else asks. Nothing while no rate or size is known.
  [[nodiscard]] std::optional<Nanos> ungated_end(std::uint64_t writer, Nanos now) const;
  // When it will begin if it waits for those who write now and for those who wait before it.
  [[nodiscard]] std::optional<Nanos> begin_by_waiting(std::uint64_t writer, Nanos now) const;
  // Before any rate is known: whether those who write now have at most kFirstPatience times as much to write as it has.
  static constexpr double kFirstPatience = 2;
  [[nodiscard]] bool writers_are_small(std::uint64_t writer) const;
  [[nodiscard]] bool knows_rates() const { return !rates_.empty(); }
  // Whether to write beside those who write now may be better for it than to wait: one of them has more left than it has in all, or
  // so many were never seen.
  [[nodiscard]] bool may_write_beside(std::uint64_t writer) const;
  // How long it writes beside so many others.
  [[nodiscard]] std::optional<Nanos> duration(std::uint64_t writer, std::uint32_t others) const;

 private:
  struct Rate {
    double per_writer = 0;  // bytes per second of each
    double weight = 0;      // writers' worth of measurement
  };
  struct Writer {
    std::uint64_t job = 0;
    double expected = 0;  // bytes; 0: not known
    bool writing = false;
    bool over = false;                                    // has ended, but would not have without a gate
    double done = 0;                                      // bytes, by the rates
    std::vector<std::pair<std::uint32_t, double>> spent;  // seconds beside so many, itself included
    double tag = 0;
    bool ungated = false;  // still writes in the ungated world
    Nanos ungated_ended;   // if not
  };

  void account(Nanos now);
  void leave_ungated(std::uint64_t writer, Nanos when);
  void run_ungated(double seconds, Nanos from);
  void learn(const Writer& writer, double written);
  [[nodiscard]] double per_writer(std::uint32_t n) const;
  [[nodiscard]] double left(const Writer& writer) const;
  [[nodiscard]] std::uint32_t best() const;
  void fit();

  std::map<std::uint64_t, Writer> writers_;
  std::map<std::uint64_t, std::uint64_t> last_of_job_;  // its last writer that is still in the ungated world
  std::size_t writing_ = 0;
  std::map<std::uint32_t, Rate> rates_;
  struct Observation {
    double written = 0;
    double seconds = 0;
    std::vector<std::pair<std::uint32_t, double>> spent;
  };
  std::deque<Observation> observed_;  // the oldest first
  Nanos now_;
  double attained_ = 0;  // in the ungated world: what each writer there got, since the beginning
  std::set<std::pair<double, std::uint64_t>> ungated_;  // tag and writer
  std::map<std::uint64_t, double> sizes_;               // of a job's last demand
  double usual_ = 0;                                    // size, smoothed
  std::uint64_t ends_ = 0;
  std::uint64_t next_trial_ = kFirstTrial;
  std::uint64_t trial_gap_ = kFirstTrial;
};

}  // namespace tutti::gate
