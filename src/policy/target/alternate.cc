// alternate: the servers in the order in which the transfer touches them, a piece of each in turn.
#include "policy/target/registry.h"

namespace tutti {
namespace {

class AlternateOrder : public TargetOrder {
 public:
  [[nodiscard]] std::string name() const override { return "alternate"; }
  std::optional<std::size_t> next(std::span<const Target> targets, const VisitFacts& /*facts*/,
                                  VisitState& /*state*/) const override {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].open && (!best || targets[i].sent < targets[*best].sent)) best = i;
    }
    return best;
  }
};

Result<std::unique_ptr<TargetOrder>> make(const Parameters& /*none*/) {
  return std::unique_ptr<TargetOrder>(std::make_unique<AlternateOrder>());
}

}  // namespace

constinit const Registration<TargetOrder> target_orders::alternate = {"alternate", {}, make};

}  // namespace tutti
