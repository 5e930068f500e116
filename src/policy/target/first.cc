// first: strictly in the order of the file, the paper's first-IOS. Clients that begin together all begin at the same server.
#include "policy/target/registry.h"

namespace tutti {
namespace {

class FirstOrder : public TargetOrder {
 public:
  [[nodiscard]] std::string name() const override { return "first"; }
  std::optional<std::size_t> next(std::span<const Target> targets, const VisitFacts& /*facts*/,
                                  VisitState& /*state*/) const override {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (targets[i].open && (!best || targets[i].offset < targets[*best].offset)) best = i;
    }
    return best;
  }
};

Result<std::unique_ptr<TargetOrder>> make(const Parameters& /*none*/) {
  return std::unique_ptr<TargetOrder>(std::make_unique<FirstOrder>());
}

}  // namespace

constinit const Registration<TargetOrder> target_orders::first = {"first", {}, make};

}  // namespace tutti
