// The choice by load, which `load` and `auto` share. Pure.
#pragma once

#include <optional>
#include <span>

#include "policy/target/order.h"

namespace tutti {

// A server that will be idle within the time of a piece, what this transfer has in flight to it included, is fed first: of
// several such the one with the fewest of its pieces in flight, then the one for which it has the most pieces left, because a
// server that everybody needs must not run dry. If all are busy, the one with the fewest of its pieces in flight, since what
// servers said grows old, then the one that is free soonest. Servers that are alike in this come in the order of `hash`.
// Nothing only if no target is open.
std::optional<std::size_t> next_by_load(std::span<const Target> targets, const VisitFacts& facts);

}  // namespace tutti
