// SliceTrial: finds out by trying whether slices serve the present load faster. Pure.
//
// Some windows with slices, some without; the faster stays (bytes served decide). Windows differ by themselves: which of the programs
// gets ahead changes from one to the next. So two windows of each are compared if they agree, and up to kMostWindows until the difference
// is clear; one that is never clear counts as none. The first window after a change is not
// counted: it still shows what was before. What was measured last without slices is one half of the first trial, so that
// trial costs nothing where slices pay. The one that lost is tried again after kFirstGap, then after kGrowth times as long,
// and so on up to kLongestGap; one that is clearly behind by kMuchWorse after a single window is given up at once, the first one counted in.
//
// It knows nothing of addresses, so it works where they mean nothing. Another set of programs is another load: it begins
// anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"

namespace tutti {

class SliceTrial {
 public:
  static constexpr std::size_t kWindows = 2;      // of each, at least,
  static constexpr std::size_t kMostWindows = 8;  // and at most
  static constexpr double kClear = 2;             // standard errors
  static constexpr Nanos kFirstGap = 20_s;
  static constexpr int kGrowth = 3;
  static constexpr Nanos kLongestGap = 600_s;
  static constexpr double kMargin = 0.01;  // so much faster slices must be
  static constexpr double kMuchWorse = 0.15;

  // A window has ended, in which so many bytes were served, with slices or without. `load` tells one set of programs from
  // another. `possible`: there is somebody to give slices to. Returns whether the next window shall have slices.
  bool window(bool slices, Bytes bytes, std::uint64_t load, bool possible, Nanos now);

  // What was measured last, bytes per window; 0: nothing yet.
  [[nodiscard]] double with() const { return mean(with_); }
  [[nodiscard]] double without() const { return mean(without_); }
  [[nodiscard]] std::uint64_t trials() const { return trials_; }

 private:
  using Rates = std::vector<double>;
  static double mean(const Rates& rates);
  static double deviation(const Rates& rates);
  // Whether there are enough of them to compare with.
  static bool settled(const Rates& rates);
  // Of the difference between the two means.
  [[nodiscard]] double standard_error() const;
  void note(bool slices, Bytes bytes);
  // The trial has both halves.
  void judge(Nanos now);
  void turn_to(bool slices);
  [[nodiscard]] bool hopeless() const;

  std::uint64_t load_ = 0;
  bool any_ = false;
  bool current_ = false;  // what the next window has
  bool holds_ = false;    // what won last
  bool decided_ = false;  // something has won
  bool trying_ = false;
  std::size_t skip_ = 1;         // windows that are not counted
  std::optional<double> first_;  // of those, the last
  Rates with_, without_;         // the last kMostWindows of each
  Nanos next_;                   // trial
  Nanos gap_ = kFirstGap;
  std::uint64_t trials_ = 0;
};

}  // namespace tutti
