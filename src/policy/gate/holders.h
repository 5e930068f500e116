// Holders: whether a job that asks for one resource should write at once or wait, learned from what was written in which time. Pure.
//
// Two questions are asked of every job that could wait.
//
// Does it do good? What is left to write, by whom, and who waits is known, and so is what n writers move together (rates.h).
// From that follows when each of them ends if the job begins now, and if it waits for a place: as many places as fill the
// storage, the smallest first. Waiting does good if they end earlier, in the sum.
//
// Can the job afford it? Beside what happens, the world without a gate is kept account of (ungated.h). What a job has gained
// over that world is its credit; a little comes with each checkpoint (kStart, kGrant), or nobody would ever begin. It waits if
// that takes no more than its credit longer than to begin when it asked. A job that the gate has cost time writes at once,
// whatever good its waiting would do, until it is even. So no job loses more by the gate than was advanced to it, but for wrong
// rates and sizes; and since the gate only keeps those waiting who gain by it, it ends by itself where it does no good.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/units.h"
#include "policy/gate/rates.h"
#include "policy/gate/ungated.h"

namespace tutti::gate {

class Holders {
 public:
  static constexpr std::uint32_t kMost = Rates::kMost;
  static constexpr std::uint32_t kUnlimited = 1U << 30U;
  static constexpr std::uint64_t kFirstTrial =
      16;  // ends until one more is tried; then kTrialGrowth times as many
  static constexpr std::uint64_t kTrialGrowth = 4;
  static constexpr double kStart = 1;     // of the time of a job's checkpoint alone
  static constexpr double kGrant = 0.02;  // of the time of each checkpoint in the world without a gate

  Holders() : ungated_(rates_) {}
  Holders(const Holders&) = delete;
  Holders& operator=(const Holders&) = delete;

  // `writer` asks. `expected`: what it will write, 0 if not known.
  void ask(std::uint64_t writer, std::uint64_t job, Bytes expected, Nanos now);
  // It writes from now on. Asked before.
  void begin(std::uint64_t writer, Nanos now);
  // It has ended, after it wrote so much (0: nothing can be learned from it), or gives up waiting.
  void end(std::uint64_t writer, Bytes written, Nanos now);
  // The job has ended.
  void leave(std::uint64_t job, Nanos now);

  // k.
  [[nodiscard]] std::uint32_t most() const;
  [[nodiscard]] std::uint32_t writing() const { return static_cast<std::uint32_t>(writing_); }
  [[nodiscard]] const Rates& rates() const { return rates_; }
  // What it will write, by its own word or by what its job wrote last: those who wait go in this order.
  [[nodiscard]] double expected(std::uint64_t writer) const;

  // What becomes of a writer that waits now, in seconds from `now`.
  struct Outlook {
    double begins = 0;       // if it waits
    double ends = 0;         // if it waits
    double ends_beside = 0;  // if it begins now
    double gain = 0;         // by which all of them end earlier, in the sum, if it waits
    double credit = 0;       // of its job; below 0: it has lost time
  };
  // Nothing while rates or sizes are not known: it should begin.
  [[nodiscard]] std::optional<Outlook> outlook(std::uint64_t writer, Nanos now) const;

 private:
  struct Writer {
    std::uint64_t job = 0;
    double expected = 0;  // bytes; 0: not known
    Nanos asked;
    bool writing = false;
    double done = 0;  // bytes, by the rates
    Rates::Spent spent;
  };
  struct Account {
    double size = 0;     // of the last checkpoint
    double seconds = 0;  // of checkpoints, and how many: both fade as those without a gate do
    double count = 0;
  };
  struct Plan;

  void account(Nanos now);
  [[nodiscard]] double left(const Writer& writer) const;
  [[nodiscard]] double credit(const Writer& writer) const;

  Rates rates_;
  Ungated ungated_;
  std::map<std::uint64_t, Writer> writers_;
  std::map<std::uint64_t, Account> jobs_;
  std::size_t writing_ = 0;
  Nanos now_;
  double usual_ = 0;  // size, smoothed
  std::uint64_t ends_ = 0;
  std::uint64_t next_trial_ = kFirstTrial;
  std::uint64_t trial_gap_ = kFirstTrial;
};

}  // namespace tutti::gate
