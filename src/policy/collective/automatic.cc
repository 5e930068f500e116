#include "policy/collective/automatic.h"

#include "policy/collective/registry.h"
#include "policy/collective/two_phase.h"

namespace tutti {
namespace {

Result<std::unique_ptr<CollectivePlan>> make(const Parameters& /*none*/) {
  return std::unique_ptr<CollectivePlan>(std::make_unique<AutomaticPlan>());
}

}  // namespace

constinit const Registration<CollectivePlan> collective_plans::automatic = {"auto", {}, make};

Schedule AutomaticPlan::schedule(const CollectiveFacts& facts) const {
  if (facts.aggregate == Toggle::disable) return {};
  bool exchange = facts.aggregate == Toggle::enable;
  if (!exchange) {
    Bytes bytes;
    Bytes spans;
    std::uint64_t runs = 0;
    for (const RankFacts& rank : facts.ranks) {
      bytes += rank.bytes;
      spans += rank.bounds.length;
      runs += rank.runs;
    }
    const Extent whole = bounds_of(facts.ranks);
    const bool small = runs > 0 && bytes / Bytes(runs) < kSmallRun.count();
    const bool interleaved = spans > whole.length;
    const bool dense = bytes * kSparse >= whole.length;
    exchange = small && interleaved && dense;
  }
  return exchange ? TwoPhasePlan().schedule(facts) : Schedule();
}

}  // namespace tutti
