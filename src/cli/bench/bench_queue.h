// How fast request policies queue: insert + remove at several depths, for every policy there is.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

struct QueueBenchOptions {
  std::uint64_t pairs = 400'000;      // insert + remove, timed, at each depth
  std::uint64_t applications = 64;    // requests come from these in random order
  std::uint64_t clients = 1024;       // and from these
  std::uint64_t objects = 1024;       // and ask for these
  std::uint64_t deepest = 1'000'000;  // depths beyond it are left out
  std::uint64_t seed = 1;
  std::string only;  // the name of one of them; empty: all
};

// A pair: add() of one request, and next() and served() of another, which is then gone; the queue stays as
// deep as it is. Time passes for the policy as the requests' times say: what is queued spans four seconds, which is four of
// the longest windows.
//
// Returns {"benchmark": "queue", "measured": {"POLICY_pairs_per_second_100", "..._10k", "..._1m"}, "rows": [...]}. POLICY is the
// bare name of each registered policy, and window_rotated, window_smallest, window_adaptive for those options
// of window; rows give the name with all parameters, the nanoseconds per pair and the load. Rows beyond those
// in `measured` have as many applications and objects as requests, the worst case. `real_now` is a steady
// clock of the real world.
Result<nlohmann::json> bench_queue(const std::function<Nanos()>& real_now,
                                   const QueueBenchOptions& options = {});

}  // namespace tutti
