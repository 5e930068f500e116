#include "policy/target/registry.h"

namespace tutti {
namespace {

constexpr const Registration<TargetOrder>* kOrders[] = {
#define TUTTI_TARGET_ORDER(order) &target_orders::order,
#include "policy/target/orders.def"
#undef TUTTI_TARGET_ORDER
};
constexpr Registry<TargetOrder> kRegistry("target order", kOrders);

}  // namespace

constinit const std::string_view kDefaultTargetOrder = "auto";

std::vector<std::string> target_order_names() { return kRegistry.names(); }

Result<std::unique_ptr<TargetOrder>> make_target_order(std::string_view text) { return kRegistry.make(text); }

}  // namespace tutti
