// The choice of `hash`, which `auto` makes too. Pure.
#pragma once

#include <optional>
#include <span>

#include "policy/target/order.h"

namespace tutti {

// The open target that comes next after the one of the last step; the first one of all is the client's own. Nothing only if no
// target is open.
std::optional<std::size_t> next_by_hash(std::span<const Target> targets, const VisitFacts& facts,
                                        VisitState& state);

}  // namespace tutti
