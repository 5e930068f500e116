#include "client/transfer/order.h"

namespace tutti {

Visits order_visits(const TargetOrder& order, const Layout& layout, std::span<const Share> shares,
                    const VisitFacts& facts) {
  Visits visits;
  visits.targets.reserve(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Share& share = shares[i];
    visits.targets.push_back(
        Target{static_cast<std::uint32_t>(i), layout.server_of_slot(share.slot), share.length});
  }
  if (shares.size() < 2) return visits;
  order.arrange({visits.targets.data(), visits.targets.size()}, facts);
  visits.alternate = order.alternates();
  return visits;
}

}  // namespace tutti
