// The speed of the simulator: 64 clients read striped files from 16 servers through the whole code, with
// bytes that are only counted. Every turn does the same work, so what differs between turns is the machine's: the fastest counts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

struct SimBenchOptions {
  std::uint32_t servers = 16;
  std::uint32_t clients = 64;
  Bytes request = 1_MiB;
  std::uint64_t requests = 400;  // of each client
  std::uint64_t seed = 1;
  std::uint32_t rounds = 5;  // at least one
};

struct SimBenchResult {
  std::uint64_t events = 0;
  std::uint64_t requests = 0;
  Bytes bytes;
  Nanos virtual_time;
  Nanos real_time;    // of the fastest turn
  Nanos median_time;  // of all of them
  double events_per_second = 0;
  Bytes peak_memory;  // of this process so far
};

// `real_now` is a steady clock of the real world.
Result<SimBenchResult> run_sim_bench(const SimBenchOptions& options, const std::function<Nanos()>& real_now);
std::string to_text(const SimBenchOptions& options, const SimBenchResult& result);
std::string to_json(const SimBenchOptions& options, const SimBenchResult& result);

}  // namespace tutti
