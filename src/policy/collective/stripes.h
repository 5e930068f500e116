// Stripes: what plans that go by the striping have in common. Pure.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "policy/collective/plan.h"

namespace tutti {

// Where in the file anybody may want bytes: the bounds of the ranks, joined where they meet. Ascending, apart.
std::vector<Extent> wanted_ranges(std::span<const RankFacts> ranks);

// Calls visit(part) for each part of the ranges that lies in one stripe, ascending.
template <typename Visit>
void each_stripe(Bytes stripe_size, std::span<const Extent> ranges, Visit visit) {
  for (const Extent& range : ranges) {
    for (Bytes at = range.offset; at < range.end();) {
      const Bytes end = std::min(range.end(), at - at % stripe_size + stripe_size);
      visit(Extent{at, end - at});
      at = end;
    }
  }
}

// Makes rounds of at most `buffer` bytes out of parts that ascend; parts that touch become one.
class RoundBuilder {
 public:
  explicit RoundBuilder(Bytes buffer) : buffer_(std::max(1_B, buffer)) {}
  void add(Extent part);
  [[nodiscard]] bool empty() const { return rounds_.empty(); }
  [[nodiscard]] std::vector<Round> take() { return std::move(rounds_); }

 private:
  Bytes buffer_;
  Bytes room_;  // in the last round
  std::vector<Round> rounds_;
};

// The ranks that may move bytes for others: those allowed, in their order, or all; each once.
std::vector<int> candidates(const CollectiveFacts& facts);

}  // namespace tutti
