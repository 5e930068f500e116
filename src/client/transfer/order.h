// Order: the second step of a transfer. In which sequence its shares are sent, by a policy of policy/target. Pure.
#pragma once

#include <span>

#include "base/small_vector.h"
#include "client/transfer/split.h"
#include "policy/target/order.h"

namespace tutti {

struct Visits {
  SmallVector<Target, 4> targets;  // each share once, the first to visit first
  bool alternate = true;           // a piece of each in turn, or one target after the other
};

Visits order_visits(const TargetOrder& order, const Layout& layout, std::span<const Share> shares,
                    const VisitFacts& facts);

}  // namespace tutti
