// RunningAverage: value(k) = weight * value(k - 1) + (1 - weight) * sample(k). Pure.
#pragma once

namespace tutti {

class RunningAverage {
 public:
  // How much the old value counts.
  explicit RunningAverage(double weight = 1.0 / 8) : weight_(weight) {}

  void add(double sample) {
    value_ = known_ ? weight_ * value_ + (1 - weight_) * sample : sample;
    known_ = true;
  }
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] double value() const { return value_; }
  [[nodiscard]] double value_or(double otherwise) const { return known_ ? value_ : otherwise; }

 private:
  double weight_;
  double value_ = 0;
  bool known_ = false;
};

}  // namespace tutti
