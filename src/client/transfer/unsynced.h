// UnsyncedWrites: what a handle wrote to each server since its last sync, and in which boot of the server. One that has
// lost power since, or failed to sync the object for anybody, may have lost the writes: then syncs fail until the handle
// has written again. Pure.
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
  // The server could not sync: the handle was told.
  void failed(std::uint32_t slot);

 private:
  struct Slot {
    std::uint64_t writes = 0;
    std::uint64_t boot = 0;
    bool lost = false;
    bool told = false;  // by a sync that failed; the next write begins anew
  };
  std::vector<Slot> slots_;
};

}  // namespace tutti
