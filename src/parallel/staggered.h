// Staggered: one contiguous access to a striped file, in the order in which a client visits the servers. Pure.
//
// For files of other file systems, where a call returns when its bytes have moved: one part is under way at a time.
#pragma once

#include <vector>

#include "layout/layout.h"
#include "policy/target/order.h"

namespace tutti {

// The parts of `access`, each within one stripe and at most `block` long (at least 1), in the order in which they are to be
// moved. Within a server that is the order of the file. `facts.servers` is taken from the layout.
std::vector<Extent> staggered(const Layout& layout, Extent access, Bytes block, const TargetOrder& order,
                              VisitFacts facts);

}  // namespace tutti
