// two_phase: file domains, one for each aggregator, as in ROMIO.
#pragma once

#include "policy/collective/plan.h"

namespace tutti {

// The file from the first to the last byte that anybody wants is cut into equal domains, one for each
// aggregator, at multiples of the stripe size. Aggregators are spread over the ranks; as many as the file has
// servers unless cb_nodes says otherwise.
//
// `domains=cyclic`: stripe k of the file belongs to aggregator k mod cb_nodes, as ROMIO does it on Lustre, so that with
// as many aggregators as servers each serves one. `only=interleaved`: as ROMIO decides by itself; where the ranges of
// the ranks do not interleave, everybody moves his own.
class TwoPhasePlan : public CollectivePlan {
 public:
  explicit TwoPhasePlan(bool cyclic = false, bool only_interleaved = false)
      : cyclic_(cyclic), only_interleaved_(only_interleaved) {}

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Schedule schedule(const CollectiveFacts& facts) const override;

 private:
  bool cyclic_;
  bool only_interleaved_;
};

}  // namespace tutti
