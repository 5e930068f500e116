// Jobs alike, started together, on a directory whose device is the modelled disk: what gate-identical runs in reality, in the simulator.
#pragma once

#include <string>
#include <vector>

#include "lab/experiments/gate/job_mix.h"
#include "lab/experiments/gate/testbed.h"

namespace tutti::gatelab {

inline constexpr std::uint32_t kForeignJobs = 4;
inline constexpr std::uint32_t kForeignCheckpoints = 3;
inline constexpr Bytes kForeignCheckpoint = Bytes(48'000'000);
inline constexpr Nanos kForeignCompute = 2500_ms;
// The page cache in front of the device: much less than a checkpoint, as with a server that many share.
inline constexpr Bytes kForeignMemory = 64_MiB;

// `within`: they start anywhere in that time.
std::vector<JobSpec> foreign_jobs(std::uint64_t seed, Nanos within);
// What `tutti lab mount` puts its files in, in virtual time.
StorageMaker foreign_storage();

}  // namespace tutti::gatelab
