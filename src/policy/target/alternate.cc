// alternate: the servers in the order in which the transfer touches them, a piece of each in turn.
#include "policy/target/registry.h"

namespace tutti {
namespace {

class AlternateOrder : public TargetOrder {
 public:
  [[nodiscard]] std::string name() const override { return "alternate"; }
  // They come in the order of first touch.
  void arrange(std::span<Target> /*targets*/, const VisitFacts& /*facts*/) const override {}
  [[nodiscard]] bool alternates() const override { return true; }
};

Result<std::unique_ptr<TargetOrder>> make(const Parameters& /*none*/) {
  return std::unique_ptr<TargetOrder>(std::make_unique<AlternateOrder>());
}

}  // namespace

constinit const Registration<TargetOrder> target_orders::alternate = {"alternate", {}, make};

}  // namespace tutti
