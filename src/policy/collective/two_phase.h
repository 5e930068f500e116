// two_phase: contiguous file domains, one for each aggregator, as in ROMIO.
#pragma once

#include "policy/collective/plan.h"

namespace tutti {

// The file from the first to the last byte that anybody wants is cut into equal domains, one for each
// aggregator, at multiples of the stripe size. Aggregators are spread over the ranks; as many as the file has
// servers unless cb_nodes says otherwise.
class TwoPhasePlan : public CollectivePlan {
 public:
  [[nodiscard]] std::string name() const override { return "two_phase"; }
  [[nodiscard]] Schedule schedule(const CollectiveFacts& facts) const override;
};

}  // namespace tutti
