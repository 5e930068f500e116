#include "policy/collective/plan.h"

#include <algorithm>

namespace tutti {

std::string_view name_of(ReadForm form) {
  switch (form) {
    case ReadForm::reread:
      return "reread";
    case ReadForm::reread_all:
      return "reread_all";
    case ReadForm::prefetch:
      return "prefetch";
    case ReadForm::exchange:
      break;
  }
  return "exchange";
}

Arrangement CollectivePlan::arrange(const CollectiveFacts& facts) const {
  Arrangement arrangement;
  arrangement.aggregators = schedule(facts);
  return arrangement;
}

Extent bounds_of(std::span<const RankFacts> ranks) {
  Bytes first = Bytes::max();
  Bytes end;
  for (const RankFacts& rank : ranks) {
    if (rank.bytes == 0_B) continue;
    first = std::min(first, rank.bounds.offset);
    end = std::max(end, rank.bounds.end());
  }
  return end == 0_B ? Extent() : Extent{first, end - first};
}

}  // namespace tutti
