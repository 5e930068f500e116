// random: each piece goes to a server drawn among those that have one left, the paper's random-IOS.
#include "policy/target/registry.h"

namespace tutti {
namespace {

class RandomOrder : public TargetOrder {
 public:
  [[nodiscard]] std::string name() const override { return "random"; }
  std::optional<std::size_t> next(std::span<const Target> targets, const VisitFacts& facts,
                                  VisitState& state) const override {
    if (!state.random) state.random.emplace(mix64(facts.chance ^ mix64(facts.transfer)));
    std::uint64_t open = 0;
    for (const Target& target : targets) open += target.open ? 1 : 0;
    std::uint64_t drawn = state.random->below(open);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].open && drawn-- == 0) return i;
    }
    return std::nullopt;  // there is an open one
  }
};

Result<std::unique_ptr<TargetOrder>> make(const Parameters& /*none*/) {
  return std::unique_ptr<TargetOrder>(std::make_unique<RandomOrder>());
}

}  // namespace

constinit const Registration<TargetOrder> target_orders::random = {"random", {}, make};

}  // namespace tutti
