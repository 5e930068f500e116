#include "policy/collective/automatic.h"

#include <fmt/format.h>

#include "policy/collective/cost.h"
#include "policy/collective/registry.h"

namespace tutti {
namespace {

Result<std::unique_ptr<CollectivePlan>> make(const Parameters& /*none*/) {
  return std::unique_ptr<CollectivePlan>(std::make_unique<AutomaticPlan>());
}

}  // namespace

constinit const Registration<CollectivePlan> collective_plans::automatic = {"auto", {}, make};

Arrangement AutomaticPlan::arrange(const CollectiveFacts& facts) const {
  if (facts.aggregate == Toggle::disable || bounds_of(facts.ranks).length == 0_B) return {};
  const std::vector<Prediction> predictions = predict(facts);
  const Prediction* best = nullptr;
  std::string reason;
  for (const Prediction& each : predictions) {
    reason += fmt::format("{}{} {:.3f} ms", reason.empty() ? "" : ", ", each.plan, each.seconds * 1e3);
    // Collective buffering was asked for: everybody for himself is none.
    if (facts.aggregate == Toggle::enable && each.plan == "independent") continue;
    if (best == nullptr || each.seconds < best->seconds) best = &each;
  }
  Arrangement arrangement;
  const auto plan = make_collective_plan(best->plan);
  if (plan.ok()) arrangement = (*plan)->arrange(facts);
  // Timing aggregates nothing either.
  if (facts.aggregate == Toggle::enable && arrangement.aggregators.empty())
    arrangement = (*make_collective_plan("two_phase;domains=cyclic"))->arrange(facts);
  arrangement.reason = fmt::format("{}; chosen: {}", reason, best->plan);
  return arrangement;
}

}  // namespace tutti
