#include "policy/target/alternate.h"

namespace tutti {

// The order of first touch is the order of visiting.
void AlternateOrder::arrange(std::span<Target> /*targets*/, const VisitFacts& /*facts*/) const {}

}  // namespace tutti
