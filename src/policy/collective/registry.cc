#include "policy/collective/registry.h"

namespace tutti {
namespace {

constexpr const Registration<CollectivePlan>* kPlans[] = {
#define TUTTI_COLLECTIVE_PLAN(plan) &collective_plans::plan,
#include "policy/collective/plans.def"
#undef TUTTI_COLLECTIVE_PLAN
};
constexpr Registry<CollectivePlan> kRegistry("collective plan", kPlans);

}  // namespace

std::vector<std::string> collective_plan_names() { return kRegistry.names(); }

Result<std::unique_ptr<CollectivePlan>> make_collective_plan(std::string_view text) {
  return kRegistry.make(text);
}

}  // namespace tutti
