// History runs: several clients read, write, extend and cut one file while links are cut and clients are paused, and the
// history of what they were told is judged (linearizable.h). A seed decides everything.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/faults/linearizable.h"

namespace tutti {

struct HistoryReport {
  Status outcome;
  std::vector<HistoryOperation> history;
  std::uint64_t overlapping = 0;  // pairs of operations that overlap
  std::uint64_t in_doubt = 0;
};

// Files on one server are judged as a whole; files on more of them, as every other seed has it, block by block.
HistoryReport run_history(std::uint64_t seed);

}  // namespace tutti
