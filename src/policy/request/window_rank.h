// The ranking of the request policy `window`: whose turn is first. Pure, and the same on all servers.
//
// A group is the requests of one application in one time window; see window.h.
//
// Smallest first, and its bound. A group's load is what the tags say, and at least the bytes that are asked
// for here, which is also the guess where there is no tag. It can grow while requests arrive, never shrink. A
// group ranks by
//   (window + demotion, load, application),  demotion = min(patience, bit width of load / unit)
// so in one window the order is by load alone, and a large group also lets smaller ones of the next
// `demotion` windows pass: waiting in proportion to size. It ages because the others' windows move on and its
// own does not: a request of window w goes before every one of window w + patience + 1 and later, whatever
// their sizes. It therefore waits for no request that was issued (patience + 1) * interval or more after it;
// with the other orders, for none issued `interval` or more after it.
//
// Classes are the same with coarser sizes: a group ranks by
//   (window + demotion, bit width of load, turn, application),  turn as with `rotated`
// so that applications of about one size take fair turns, and a group's place does not change with every request that
// arrives, which another server may see in another order. For the same reason the load is at least that of the
// application's window before (window_loads.h).
#pragma once

#include <compare>
#include <cstdint>

#include "base/units.h"
#include "policy/request/window_grid.h"
#include "policy/request/window_options.h"

namespace tutti {

// The paper's application id, 0 to 32767: ids in that range, as administrators set them, stay; others are
// hashed.
std::uint64_t paper_application_id(std::uint64_t application);

// The paper's req_prior. Times before 1970 count as 1970.
std::uint64_t paper_priority(Nanos request_time, Nanos interval, std::uint64_t application);

// The application's place for order=rotated and among equals of order=classes, smaller first, in the windows that begin in the period of this number. A hash of
// period and application, so all servers compute it alike, whatever their intervals, and every order of the applications is
// equally likely, whatever ids they have: a turn of the ids themselves, (id + number) mod 32768, would favour whoever
// follows a gap. Periods go in pairs, of which the second has the reverse order of the first: applications that are in both
// have the same mean place after each pair, exactly.
std::uint64_t window_turn(std::uint64_t period_number, std::uint64_t application);

// Smaller goes first.
struct WindowRank {
  std::uint64_t window = 0;
  std::uint64_t size = 0;
  std::uint64_t place = 0;
  std::uint64_t application = 0;
  auto operator<=>(const WindowRank&) const = default;
};

// `load` in bytes; only the orders by size look at it.
WindowRank window_rank(const WindowOptions& options, const TimeWindow& window, std::uint64_t application,
                       std::uint64_t load);

}  // namespace tutti
