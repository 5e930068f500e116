#include "client/transfer/visiting.h"

#include <fmt/format.h>

namespace tutti {

Status Visiting::apply(const VisitWish& wish) {
  if (wish.block != 0_B && (wish.block < kLeastBlock || wish.block > kMostBlock)) {
    return {Code::invalid, fmt::format("a schedule block of {} bytes: use {} to {}", wish.block.count(),
                                       kLeastBlock.count(), kMostBlock.count())};
  }
  if (wish.in_flight > kMostInFlight) {
    return {Code::invalid, fmt::format("{} pieces in flight: use 1 to {}", wish.in_flight, kMostInFlight)};
  }
  if (!wish.order.empty()) {
    auto made = make_target_order(wish.order);
    if (!made.ok()) return made.status();
    order = *std::move(made);
  }
  if (wish.block != 0_B) block = wish.block;
  if (wish.in_flight != 0) in_flight = wish.in_flight;
  if (wish.per_server != 0) per_server = wish.per_server;
  return {};
}

}  // namespace tutti
