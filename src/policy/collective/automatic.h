// auto: the plan with the lowest predicted cost (cost.h).
#pragma once

#include "policy/collective/plan.h"

namespace tutti {

// What was predicted for each plan, and which was chosen, stands in the arrangement's reason. The hints cb_read and
// cb_write overrule it: `enable` leaves only plans that aggregate.
class AutomaticPlan : public CollectivePlan {
 public:
  [[nodiscard]] std::string name() const override { return "auto"; }
  [[nodiscard]] bool wants_bytes_by_slot() const override { return true; }
  [[nodiscard]] Schedule schedule(const CollectiveFacts& facts) const override {
    return arrange(facts).aggregators;
  }
  [[nodiscard]] Arrangement arrange(const CollectiveFacts& facts) const override;
};

}  // namespace tutti
