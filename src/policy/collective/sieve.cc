#include "policy/collective/sieve.h"

namespace tutti {

std::vector<Extent> join_over_holes(std::span<const Extent> extents, Bytes hole, Bytes most) {
  std::vector<Extent> joined;
  for (const Extent& extent : extents) {
    if (extent.length == 0_B) continue;
    if (!joined.empty()) {
      Extent& last = joined.back();
      if (extent.offset >= last.end() && extent.offset - last.end() <= hole &&
          extent.end() - last.offset <= most) {
        last.length = extent.end() - last.offset;
        continue;
      }
    }
    joined.push_back(extent);
  }
  return joined;
}

bool sieve_read(const SieveFacts& facts, Toggle toggle) {
  if (toggle == Toggle::disable || facts.runs < 2) return false;
  if (toggle == Toggle::enable) return true;
  const Bytes holes = facts.span - facts.bytes;
  return holes < kWorthReading * (facts.runs - 1) &&
         facts.bytes / Bytes(facts.runs) < kWorthReading.count() / 4;
}

bool sieve_write(const SieveFacts& facts, Toggle toggle) {
  return toggle == Toggle::enable && facts.runs > 1;
}

}  // namespace tutti
