#include "client/transfer/unsynced.h"

namespace tutti {

void UnsyncedWrites::wrote(std::uint32_t slot, std::uint64_t boot) {
  Slot& record = slots_[slot];
  if (record.writes > 0 && record.boot != boot) record.lost = true;
  ++record.writes;
  record.boot = boot;
}

Status UnsyncedWrites::synced(std::uint32_t slot, std::uint64_t boot, std::uint64_t writes) {
  Slot& record = slots_[slot];
  const bool lost = record.lost || (record.writes > 0 && record.boot != boot);
  if (record.writes == writes || lost) record = Slot();
  if (!lost) return {};
  return {Code::io_error, "it lost power after writes that were not synced: write them again"};
}

}  // namespace tutti
