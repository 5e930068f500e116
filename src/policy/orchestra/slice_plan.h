// How a window of time is divided among scheduling objects. Pure.
//
// The paper's rule: in inverse proportion to the reuse distance. Who comes back sooner demands more, and uses the device
// better. Nobody gets less than a twentieth of an even share: a slice has to be long enough to move the heads there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/request/advice.h"

namespace tutti {

// A program, or all the rest together.
struct OrchestraObject {
  std::uint64_t application = 0;
  bool rest = false;
  double reuse = 0;  // mean reuse distance in seconds; 0: not known yet
  bool operator==(const OrchestraObject&) const = default;
};

// The part of a window that each gets; they sum up to 1. One whose reuse distance is not known counts as the mean of the
// others.
std::vector<double> divide_window(std::span<const OrchestraObject> objects, bool even);

// The slices of `windows` windows from `begin` on, one behind the other.
std::vector<TimeSlice> make_slices(std::span<const OrchestraObject> objects, bool even, Nanos begin,
                                   Nanos window, std::size_t windows);

}  // namespace tutti
