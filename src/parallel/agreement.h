// Agreement: how the ranks of a collective call come to one Status.
#pragma once

#include <cstdint>
#include <span>

#include "env/group.h"

namespace tutti {

// The same Status on every rank: ok if all are, otherwise that of the lowest rank whose is not. An error of
// the group itself is returned as it is.
//
// If it is ok, `values` (equally many on all ranks) have become the largest of all ranks, each in its place.
// They travel with the Status, so that a call of the group is saved where both are to be known.
Task<Status> agree(Group& group, Status mine, std::span<std::int64_t> values = {});

}  // namespace tutti
