// Advice: what a cluster's coordinator tells the request policies of all data servers. Pure.
//
// A time slice says whose requests should be served from when to when. A plan says which of its choices a policy that has
// several (automatic.h) takes from when on. Advice replaces what was advised before and
// ends by itself: after `expiry` a policy serves as if there had been none, so that a coordinator that is gone holds
// nobody up. The times are on the clock of the policy's `now`: the data server has translated them from the cluster's
// time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace tutti {

struct TimeSlice {
  std::uint64_t application = 0;
  bool rest = false;  // for all that no slice names; `application` is meaningless then
  Nanos from, to;     // to excluded
  bool operator==(const TimeSlice&) const = default;
};

struct PlanStep {
  Nanos from;
  std::uint32_t choice = 0;
  bool operator==(const PlanStep&) const = default;
};

struct Advice {
  std::uint64_t epoch = 0;  // ascending from one advice to the next
  Nanos expiry;
  std::vector<TimeSlice> slices;  // in the order of their begin
  std::vector<PlanStep> plan;     // in the order of their begin
  bool operator==(const Advice&) const = default;
};

}  // namespace tutti
