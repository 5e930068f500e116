// WeightedDraw: weights of slots (small numbers), and which slot a point in their sum belongs to. A Fenwick tree: both
// take O(log slots).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti {

class WeightedDraw {
 public:
  [[nodiscard]] std::uint64_t total() const { return total_; }

  void set(std::uint32_t slot, std::uint64_t weight) {
    if (slot >= weights_.size()) grow(slot);
    const std::uint64_t change = weight - weights_[slot];  // may wrap, as the sums do
    weights_[slot] = weight;
    total_ += change;
    for (std::size_t at = slot + 1; at < sums_.size(); at += at & (~at + 1)) sums_[at] += change;
  }
  // The slot in which the point lies if they stand in a row, each as long as its weight. point < total().
  [[nodiscard]] std::uint32_t find(std::uint64_t point) const {
    assert(point < total_);
    std::size_t at = 0;
    for (std::size_t step = weights_.size(); step > 0; step /= 2) {
      if (at + step >= sums_.size() || sums_[at + step] > point) continue;
      at += step;
      point -= sums_[at];
    }
    return static_cast<std::uint32_t>(at);
  }

 private:
  void grow(std::uint32_t slot) {
    std::size_t size = weights_.empty() ? 4 : weights_.size();
    while (size <= slot) size *= 2;
    weights_.resize(size);
    sums_.assign(size + 1, 0);
    for (std::size_t i = 1; i <= size; ++i) {
      sums_[i] += weights_[i - 1];
      const std::size_t parent = i + (i & (~i + 1));
      if (parent <= size) sums_[parent] += sums_[i];
    }
  }

  std::vector<std::uint64_t> weights_;  // a power of two of them
  std::vector<std::uint64_t> sums_;     // from 1 on
  std::uint64_t total_ = 0;
};

}  // namespace tutti
