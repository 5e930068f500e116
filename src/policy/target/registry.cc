#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "policy/target/alternate.h"
#include "policy/target/order.h"

namespace tutti {
namespace {

struct Known {
  std::string_view name;
  std::unique_ptr<TargetOrder> (*make)();
};

template <typename Order>
std::unique_ptr<TargetOrder> make() {
  return std::make_unique<Order>();
}

// One line for each order.
constexpr Known kKnown[] = {
    {"alternate", make<AlternateOrder>},
};

}  // namespace

std::vector<std::string> target_order_names() {
  std::vector<std::string> names;
  for (const Known& order : kKnown) names.emplace_back(order.name);
  return names;
}

Result<std::unique_ptr<TargetOrder>> make_target_order(std::string_view name) {
  const auto* order = std::find_if(std::begin(kKnown), std::end(kKnown),
                                   [&](const Known& each) { return each.name == name; });
  if (order == std::end(kKnown)) {
    return Status(Code::invalid, fmt::format("target order '{}' is not known: use {}", name,
                                             fmt::join(target_order_names(), ", ")));
  }
  return order->make();
}

}  // namespace tutti
