// hash: at step j client i sends to server (i + j) mod n, the paper's hash-IOS. Clients of neighbouring ranks never meet.
//
// A server that has nothing left, or enough in flight, is passed over. Clients without a rank begin at a server drawn for
// them, and go on in the same way.
#include "policy/target/by_hash.h"
#include "policy/target/registry.h"

namespace tutti {
namespace {

class HashOrder : public TargetOrder {
 public:
  [[nodiscard]] std::string name() const override { return "hash"; }
  std::optional<std::size_t> next(std::span<const Target> targets, const VisitFacts& facts,
                                  VisitState& state) const override {
    return next_by_hash(targets, facts, state);
  }
};

Result<std::unique_ptr<TargetOrder>> make(const Parameters& /*none*/) {
  return std::unique_ptr<TargetOrder>(std::make_unique<HashOrder>());
}

}  // namespace

std::optional<std::size_t> next_by_hash(std::span<const Target> targets, const VisitFacts& facts,
                                        VisitState& state) {
  std::optional<std::size_t> best;
  std::uint64_t nearest = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i].open) continue;
    const std::uint64_t steps =
        (steps_from_start(facts, targets[i].slot) + facts.servers - state.step % facts.servers) %
        facts.servers;
    if (best && steps >= nearest) continue;
    best = i;
    nearest = steps;
  }
  state.step += nearest + 1;
  return best;
}

constinit const Registration<TargetOrder> target_orders::hash = {"hash", {}, make};

}  // namespace tutti
