// The bare Unix-socket round trip beside which Tutti's are measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "env/clock.h"

namespace tutti::cli {

// In nanoseconds.
struct Percentiles {
  double p50 = 0;
  double p99 = 0;
};
// Of at least one sample; sorts them.
Percentiles percentiles(std::vector<std::int64_t>& samples);

// So many round trips of 64 bytes with a child on that CPU.
Result<Percentiles> bare_pingpong(const Clock& clock, std::size_t count, int cpu);

}  // namespace tutti::cli
