// The analysis of paper 1, section 3.2: what coordination gives in theory. Pure.
//
// `applications` (m) ask all `servers` (n) at once; each server needs `service_time` (t) for each. Without
// coordination each server serves them in an order of its own, all orders equally likely; with it, in the
// same one. Both counts are at least 1. Times come in the unit of `service_time`.
#pragma once

#include <cstdint>

namespace tutti {

// Formula 1: m t - t / m^n * (1^n + 2^n + ... + (m - 1)^n).
double uncoordinated_completion(std::uint64_t applications, std::uint64_t servers, double service_time = 1);
// Formula 2: (m + 1) / 2 t. Whatever the number of servers.
double coordinated_completion(std::uint64_t applications, double service_time = 1);
// Formula 3: formula 1 less formula 2.
double completion_reduction(std::uint64_t applications, std::uint64_t servers, double service_time = 1);
// Formula 3 by formula 1: a fraction, below 1/2.
double completion_reduction_rate(std::uint64_t applications, std::uint64_t servers);

}  // namespace tutti
