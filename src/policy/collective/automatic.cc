#include "policy/collective/automatic.h"

#include <fmt/format.h>

#include "policy/collective/cost.h"
#include "policy/collective/registry.h"
#include "policy/collective/two_phase.h"

namespace tutti {
namespace {

bool exchange_pays(const CollectiveFacts& facts) {
  Bytes bytes;
  Bytes spans;
  std::uint64_t runs = 0;
  for (const RankFacts& rank : facts.ranks) {
    bytes += rank.bytes;
    spans += rank.bounds.length;
    runs += rank.runs;
  }
  const Extent whole = bounds_of(facts.ranks);
  const bool small = runs > 0 && bytes / Bytes(runs) < AutomaticPlan::kSmallRun.count();
  const bool interleaved = spans > whole.length;
  const bool dense = bytes * AutomaticPlan::kSparse >= whole.length;
  return small && interleaved && dense;
}

Result<std::unique_ptr<CollectivePlan>> make(const Parameters& /*none*/) {
  return std::unique_ptr<CollectivePlan>(std::make_unique<AutomaticPlan>());
}

}  // namespace

constinit const Registration<CollectivePlan> collective_plans::automatic = {"auto", {}, make};

Arrangement AutomaticPlan::arrange(const CollectiveFacts& facts) const {
  if (facts.aggregate == Toggle::disable || bounds_of(facts.ranks).length == 0_B) return {};
  if (!facts.rotational) {
    const bool exchange = facts.aggregate == Toggle::enable || exchange_pays(facts);
    Arrangement arrangement;
    if (exchange) arrangement.aggregators = TwoPhasePlan().schedule(facts);
    arrangement.reason =
        exchange ? "no disks rotate; chosen: two_phase" : "no disks rotate; chosen: independent";
    return arrangement;
  }
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
