// independent: every rank moves its own bytes.
#include "policy/collective/registry.h"

namespace tutti {
namespace {

class IndependentPlan : public CollectivePlan {
 public:
  [[nodiscard]] std::string name() const override { return "independent"; }
  [[nodiscard]] bool always_independent() const override { return true; }
  [[nodiscard]] Schedule schedule(const CollectiveFacts& /*facts*/) const override { return {}; }
};

Result<std::unique_ptr<CollectivePlan>> make(const Parameters& /*none*/) {
  return std::unique_ptr<CollectivePlan>(std::make_unique<IndependentPlan>());
}

}  // namespace

constinit const Registration<CollectivePlan> collective_plans::independent = {"independent", {}, make};

}  // namespace tutti
