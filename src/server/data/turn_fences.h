// TurnFences: which turns at the gate were lost, so that what is written in them is refused. Pure.
//
// The job that lost a turn may not know it: it was stopped, or cut off. Its writes would meet those of the next holder.
// They are refused until the job has another turn, or writes without one. Kept are the last kMost numbers that were lost;
// numbers are never given out twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>

namespace tutti {

class TurnFences {
 public:
  static constexpr std::size_t kMost = 4096;

  void add(std::uint64_t fence) {
    if (fence == 0 || !lost_.insert(fence).second) return;
    order_.push_back(fence);
    if (order_.size() <= kMost) return;
    lost_.erase(order_.front());
    order_.pop_front();
  }
  [[nodiscard]] bool lost(std::uint64_t fence) const { return !lost_.empty() && lost_.contains(fence); }

 private:
  std::unordered_set<std::uint64_t> lost_;
  std::deque<std::uint64_t> order_;  // the last one lost last
};

}  // namespace tutti
