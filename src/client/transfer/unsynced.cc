#include "client/transfer/unsynced.h"

namespace tutti {

void UnsyncedWrites::wrote(std::uint32_t slot, std::uint64_t boot) {
  Slot& record = slots_[slot];
  if (record.told) record = Slot();
  if (record.writes > 0 && record.boot != boot) record.lost = true;
  ++record.writes;
  record.boot = boot;
}

Status UnsyncedWrites::synced(std::uint32_t slot, std::uint64_t boot, std::uint64_t writes) {
  Slot& record = slots_[slot];
  if (!record.lost && (record.writes == 0 || record.boot == boot)) {
    if (record.writes == writes) record = Slot();
    return {};
  }
  record.lost = record.told = true;
  return {Code::io_error,
          "writes that were not synced may be lost: the server lost power or could not write them to its "
          "disk; write "
          "them again"};
}

void UnsyncedWrites::failed(std::uint32_t slot) {
  Slot& record = slots_[slot];
  if (record.writes > 0) record.lost = record.told = true;
}

}  // namespace tutti
