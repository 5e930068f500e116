// PacedOrder: a TargetOrder that also says how much time to leave between two pieces. Pure.
#pragma once

#include <span>

#include "policy/target/order.h"

namespace tutti {

class PacedOrder : public TargetOrder {
 public:
  // A piece was sent, which `targets` and `state` count already: how long the next one waits, if it does not come after one that
  // has landed. Zero: not at all.
  [[nodiscard]] virtual Nanos pause(std::span<const Target> targets, const VisitFacts& facts,
                                    const VisitState& state) const = 0;
};

}  // namespace tutti
