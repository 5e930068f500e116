#include "policy/collective/stripes.h"

#include <numeric>

namespace tutti {

std::vector<Extent> wanted_ranges(std::span<const RankFacts> ranks) {
  std::vector<Extent> bounds;
  for (const RankFacts& rank : ranks) {
    if (rank.bytes > 0_B) bounds.push_back(rank.bounds);
  }
  std::sort(bounds.begin(), bounds.end());
  std::vector<Extent> joined;
  for (const Extent& each : bounds) {
    if (joined.empty() || joined.back().end() < each.offset) {
      joined.push_back(each);
    } else if (joined.back().end() < each.end()) {
      joined.back().length = each.end() - joined.back().offset;
    }
  }
  return joined;
}

void RoundBuilder::add(Extent part) {
  while (part.length > 0_B) {
    if (room_ == 0_B) {
      rounds_.emplace_back();
      room_ = buffer_;
    }
    const Bytes length = std::min(part.length, room_);
    Round& round = rounds_.back();
    if (!round.empty() && round.back().end() == part.offset) {
      round.back().length += length;
    } else {
      round.push_back({part.offset, length});
    }
    room_ -= length;
    part = {part.offset + length, part.length - length};
  }
}

std::vector<int> candidates(const CollectiveFacts& facts) {
  std::vector<int> chosen;
  for (const int rank : facts.aggregators) {
    const bool known = std::find(chosen.begin(), chosen.end(), rank) != chosen.end();
    if (rank >= 0 && static_cast<std::size_t>(rank) < facts.ranks.size() && !known) chosen.push_back(rank);
  }
  if (!chosen.empty()) return chosen;
  chosen.resize(facts.ranks.size());
  std::iota(chosen.begin(), chosen.end(), 0);
  return chosen;
}

}  // namespace tutti
