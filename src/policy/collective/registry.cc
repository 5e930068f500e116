#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "policy/collective/plan.h"
#include "policy/collective/two_phase.h"

namespace tutti {
namespace {

struct Known {
  std::string_view name;
  std::unique_ptr<CollectivePlan> (*make)();
};

template <typename Plan>
std::unique_ptr<CollectivePlan> make() {
  return std::make_unique<Plan>();
}

// One line for each plan.
constexpr Known kKnown[] = {
    {"auto", make<AutomaticPlan>},
    {"independent", make<IndependentPlan>},
    {"two_phase", make<TwoPhasePlan>},
};

}  // namespace

std::vector<std::string> collective_plan_names() {
  std::vector<std::string> names;
  for (const Known& plan : kKnown) names.emplace_back(plan.name);
  return names;
}

Result<std::unique_ptr<CollectivePlan>> make_collective_plan(std::string_view name) {
  const auto* plan = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [&](const Known& each) { return each.name == name; });
  if (plan == std::end(kKnown)) {
    return Status(Code::invalid, fmt::format("collective plan '{}' is not known: use {}", name,
                                             fmt::join(collective_plan_names(), ", ")));
  }
  return plan->make();
}

bool always_independent(std::string_view name, Toggle aggregate, int ranks) {
  return name == "independent" || aggregate == Toggle::disable || ranks == 1;
}

}  // namespace tutti
