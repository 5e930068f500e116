// alternate: the servers in the order in which the transfer touches them, a piece of each in turn. Pure.
#pragma once

#include <span>
#include <string>

#include "policy/target/order.h"

namespace tutti {

class AlternateOrder : public TargetOrder {
 public:
  [[nodiscard]] std::string name() const override { return "alternate"; }
  void arrange(std::span<Target> targets, const VisitFacts& facts) const override;
  [[nodiscard]] bool alternates() const override { return true; }
};

}  // namespace tutti
