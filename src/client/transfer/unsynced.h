// UnsyncedWrites: what a handle wrote to each server since its last sync, and in which boot of the server. One that has
// lost power since may have lost the writes, and then a sync must not succeed. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"

namespace tutti {

class UnsyncedWrites {
 public:
  explicit UnsyncedWrites(std::size_t slots) : slots_(slots) {}

  // The server of the slot acknowledged a write in this boot.
  void wrote(std::uint32_t slot, std::uint64_t boot);
  // How many writes there are to sync.
  [[nodiscard]] std::uint64_t writes(std::uint32_t slot) const { return slots_[slot].writes; }
  // The server acknowledged a sync. `writes` is how many there were when it began: later ones are not covered by it.
  // Code::io_error if writes were lost.
  Status synced(std::uint32_t slot, std::uint64_t boot, std::uint64_t writes);

 private:
  struct Slot {
    std::uint64_t writes = 0;
    std::uint64_t boot = 0;
    bool lost = false;
  };
  std::vector<Slot> slots_;
};

}  // namespace tutti
