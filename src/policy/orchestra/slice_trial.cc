#include "policy/orchestra/slice_trial.h"

#include <algorithm>

namespace tutti {

double SliceTrial::mean(const Rates& rates) {
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return rates.empty() ? 0 : sum / static_cast<double>(rates.size());
}

void SliceTrial::note(bool slices, Bytes bytes) {
  if (skip_ > 0) {
    --skip_;
    first_ = static_cast<double>(bytes.count());
    return;
  }
  Rates& rates = slices ? with_ : without_;
  if (rates.size() == kWindows) rates.erase(rates.begin());
  rates.push_back(static_cast<double>(bytes.count()));
}

void SliceTrial::turn_to(bool slices) {
  current_ = slices;
  skip_ = 1;
  first_.reset();
  (slices ? with_ : without_).clear();
}

bool SliceTrial::hopeless() const {
  const Rates& tried = current_ ? with_ : without_;
  const double other = mean(current_ ? without_ : with_);
  const double last = tried.empty() ? first_.value_or(other) : tried.back();
  return last < (1 - kMuchWorse) * other;
}

void SliceTrial::judge(Nanos now) {
  if (with_.empty() || without_.empty()) (current_ ? with_ : without_).push_back(first_.value_or(0));
  const bool won = with() > (1 + kMargin) * without();
  const bool changed = !settled_ || won != holds_;
  gap_ = changed ? kFirstGap : std::min(gap_ * kGrowth, kLongestGap);
  holds_ = won;
  settled_ = true;
  trying_ = false;
  ++trials_;
  next_ = now + gap_;
  if (current_ != holds_) turn_to(holds_);
}

bool SliceTrial::window(bool slices, Bytes bytes, std::uint64_t load, bool possible, Nanos now) {
  if (!any_ || load != load_) {
    *this = SliceTrial();
    any_ = true;
    load_ = load;
    return false;
  }
  if (slices == current_) note(slices, bytes);
  if (!possible) {
    if (current_) turn_to(false);
    trying_ = settled_ = holds_ = false;
    return false;
  }
  if (trying_) {
    const Rates& tried = current_ ? with_ : without_;
    if (tried.size() == kWindows || hopeless()) judge(now);
  } else if (!settled_ ? without_.size() == kWindows
                       : now >= next_ && (holds_ ? with_ : without_).size() == kWindows) {
    trying_ = true;
    turn_to(!current_);
  }
  return current_;
}

}  // namespace tutti
