// The processor in the servers of papers 3 and 4, whose nodes are described in the same words: dual Pentium of 1.6 GHz, 1 GB.
//
// PVFS2's server is one thread. TCP takes such a processor about a cycle for each bit: 5 ns a byte, the rule of thumb of its time. What
// a request costs was set once, by paper 3's rates of mpi-io-test in slices (160 MB/s with barriers, 148 without); paper 4's figures are
// predicted with it.
#pragma once

#include "lab/sim/cpu_store.h"

namespace tutti {

inline constexpr CpuModel kPentium = {450_us, 5000, 5000, {}};

}  // namespace tutti
