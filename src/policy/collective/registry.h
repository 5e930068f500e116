// The registrations of the collective plans: see plans.def and policy/registry.h.
#pragma once

#include "policy/collective/plan.h"
#include "policy/registry.h"

namespace tutti::collective_plans {

#define TUTTI_COLLECTIVE_PLAN(plan) extern const Registration<CollectivePlan> plan;
#include "policy/collective/plans.def"
#undef TUTTI_COLLECTIVE_PLAN

}  // namespace tutti::collective_plans
