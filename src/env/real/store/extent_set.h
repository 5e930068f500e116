// ExtentSet: a set of byte ranges that forgets everything when it becomes too fragmented.
//
// For knowledge that may be lost: what is in it is true, what is not in it is unknown.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace tutti {

class ExtentSet {
 public:
  // Adds [start, end), joined with its neighbours.
  void add(std::uint64_t start, std::uint64_t end) {
    if (start >= end) return;
    auto next = extents_.upper_bound(start);
    if (next != extents_.begin()) {
      const auto previous = std::prev(next);
      if (previous->second >= end) return;
      if (previous->second >= start) {
        start = previous->first;
        next = previous;
      }
    }
    while (next != extents_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = extents_.erase(next);
    }
    if (extents_.size() >= kMostExtents) extents_.clear();
    extents_.emplace(start, end);
  }
  [[nodiscard]] bool contains(std::uint64_t start, std::uint64_t end) const {
    const auto next = extents_.upper_bound(start);
    return next != extents_.begin() && std::prev(next)->second >= end;
  }
  // Removes everything from `end` on.
  void cut(std::uint64_t end) {
    extents_.erase(extents_.lower_bound(end), extents_.end());
    if (extents_.empty()) return;
    auto& last = *std::prev(extents_.end());
    last.second = std::min(last.second, end);
  }

 private:
  static constexpr std::size_t kMostExtents = 1024;
  std::map<std::uint64_t, std::uint64_t> extents_;  // start to end
};

}  // namespace tutti
