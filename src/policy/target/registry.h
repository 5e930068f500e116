// The registrations of the target orders: see orders.def and policy/registry.h.
#pragma once

#include "policy/registry.h"
#include "policy/target/order.h"

namespace tutti::target_orders {

#define TUTTI_TARGET_ORDER(order) extern const Registration<TargetOrder> order;
#include "policy/target/orders.def"
#undef TUTTI_TARGET_ORDER

}  // namespace tutti::target_orders
