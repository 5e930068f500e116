#include "policy/orchestra/slice_trial.h"

#include <algorithm>
#include <cmath>

namespace tutti {

double SliceTrial::mean(const Rates& rates) {
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return rates.empty() ? 0 : sum / static_cast<double>(rates.size());
}

double SliceTrial::deviation(const Rates& rates) {
  if (rates.size() < 2) return 0;
  const double middle = mean(rates);
  double squares = 0;
  for (const double rate : rates) squares += (rate - middle) * (rate - middle);
  return std::sqrt(squares / static_cast<double>(rates.size() - 1));
}

bool SliceTrial::settled(const Rates& rates) {
  if (rates.size() < kWindows) return false;
  const double error = deviation(rates) / std::sqrt(static_cast<double>(rates.size()));
  return rates.size() == kMostWindows || error <= kMargin * mean(rates);
}

double SliceTrial::standard_error() const {
  const auto part = [](const Rates& rates) {
    const double off = deviation(rates);
    return rates.empty() ? 0 : off * off / static_cast<double>(rates.size());
  };
  return std::sqrt(part(with_) + part(without_));
}

void SliceTrial::note(bool slices, Bytes bytes) {
  if (skip_ > 0) {
    --skip_;
    first_ = static_cast<double>(bytes.count());
    return;
  }
  Rates& rates = slices ? with_ : without_;
  if (rates.size() == kMostWindows) rates.erase(rates.begin());
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
  const Rates& others = current_ ? without_ : with_;
  const double other = mean(others);
  const double last = tried.empty() ? first_.value_or(other) : tried.back();
  return last < (1 - kMuchWorse) * other - kClear * deviation(others);
}

void SliceTrial::judge(Nanos now) {
  if (with_.empty() || without_.empty()) (current_ ? with_ : without_).push_back(first_.value_or(0));
  const bool won = with() - without() > std::max(kMargin * without(), kClear * standard_error());
  const bool changed = !decided_ || won != holds_;
  gap_ = changed ? kFirstGap : std::min(gap_ * kGrowth, kLongestGap);
  holds_ = won;
  decided_ = true;
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
    trying_ = decided_ = holds_ = false;
    return false;
  }
  if (trying_) {
    const Rates& tried = current_ ? with_ : without_;
    const bool clear = std::abs(with() - without()) > kClear * standard_error();
    const bool enough =
        tried.size() == kMostWindows || (tried.size() >= kWindows && (clear || settled(tried)));
    if (enough || hopeless()) judge(now);
  } else if (!decided_ ? settled(without_) : now >= next_ && settled(holds_ ? with_ : without_)) {
    trying_ = true;
    turn_to(!current_);
  }
  return current_;
}

}  // namespace tutti
