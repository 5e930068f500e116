// CallHabit: what the ranks of a file have learnt from its collective calls, so that they need not ask each other before each one. Pure.
//
// Telling all others what one wants costs as much as a small call itself. Where the last calls were such that every rank moved its own
// bytes, the next one is taken to be such a call too: each rank begins at once, and tells the others afterwards, in the message by which
// they agree on the outcome anyway. All of them then see whether that was right. If it was not, one call was slower than it
// could have been, and it takes four times as many calls in a row until it is assumed again.
//
// A plan may know enough of the devices and of what one rank wants to guess that of the first calls too (CollectivePlan::would_be_own):
// a program that makes one call need not ask at all. A guess that was wrong is the last.
//
// All ranks have the same calls in the same order, and so the same habit.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti {

class CallHabit {
 public:
  static constexpr std::uint64_t kFirst = 2;  // calls in a row
  static constexpr std::uint64_t kMost = 1U << 20U;

  // Whether the next call, a read or a write, is begun without asking.
  [[nodiscard]] bool assumes_own(bool write) const { return of(write).streak >= of(write).needed; }
  // Whether a rank may guess it, where it is not assumed.
  [[nodiscard]] bool may_guess(bool write) const { return of(write).needed == kFirst; }
  // What is right for the call that was just made, and whether anybody had begun it without asking.
  void saw(bool write, bool own, bool begun) {
    Kind& kind = write ? write_ : read_;
    if (own) {
      ++kind.streak;
      return;
    }
    if (begun) kind.needed = std::min(kind.needed * 4, kMost);
    kind.streak = 0;
  }

 private:
  struct Kind {
    std::uint64_t streak = 0;
    std::uint64_t needed = kFirst;
  };
  [[nodiscard]] const Kind& of(bool write) const { return write ? write_ : read_; }
  Kind read_, write_;
};

}  // namespace tutti
