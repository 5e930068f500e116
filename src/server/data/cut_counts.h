// CutCounts: tells whether an object was made shorter between two moments. Pure.
//
// Each cut has a number of its own, greater than those before. Kept by object for the last kMost; of all others it is
// only known that nothing was cut since the greatest number that was forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "env/store.h"

namespace tutti {

class CutCounts {
 public:
  static constexpr std::size_t kMost = 4096;

  // `first` differs from start to start.
  explicit CutCounts(std::uint64_t first) : last_(first), forgotten_(first) {}

  void cut(ObjectId object) {
    if (counts_.size() >= kMost && !counts_.contains(object)) {
      counts_.clear();
      forgotten_ = last_;
    }
    counts_[object] = ++last_;
  }
  // Changes whenever the object is cut, seldom otherwise.
  [[nodiscard]] std::uint64_t of(ObjectId object) const {
    const auto found = counts_.find(object);
    return found == counts_.end() ? forgotten_ : found->second;
  }
  // Changes whenever any object is cut.
  [[nodiscard]] std::uint64_t last() const { return last_; }

 private:
  std::uint64_t last_;
  std::uint64_t forgotten_;
  std::map<ObjectId, std::uint64_t> counts_;
};

}  // namespace tutti
