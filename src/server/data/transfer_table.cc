#include "server/data/transfer_table.h"

#include <algorithm>

namespace tutti {

std::unique_ptr<Transfer> TransferTable::blank() {
  auto transfer = std::make_unique<Transfer>();
  if (!spare_.empty()) {
    static_cast<TransferLists&>(*transfer) = std::move(spare_.back());
    spare_.pop_back();
  }
  return transfer;
}

Transfer& TransferTable::insert(std::unique_ptr<Transfer> transfer) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  by_id_.insert(transfer->request.id, slot);
  slots_[slot] = std::move(transfer);
  return *slots_[slot];
}

void TransferTable::renumber(Transfer& transfer, std::uint64_t id) {
  const std::uint32_t slot = by_id_.find(transfer.request.id);
  by_id_.erase(transfer.request.id);
  transfer.request.id = id;
  by_id_.insert(id, slot);
}

void TransferTable::erase(const Transfer& transfer) {
  const std::uint64_t id = transfer.request.id;
  const std::uint32_t slot = by_id_.find(id);
  by_id_.erase(id);
  const std::unique_ptr<Transfer> gone = std::move(slots_[slot]);
  free_.push_back(slot);
  if (spare_.size() == kSpare || (gone->memory() + Bytes(gone->inside.capacity())).count() > kSpareBytes)
    return;
  TransferLists& kept = spare_.emplace_back(std::move(static_cast<TransferLists&>(*gone)));
  kept.extents.clear();
  kept.region.segments.clear();
  kept.region.ends.clear();
  kept.inside.clear();
}

std::vector<Transfer*> TransferTable::in_state(TransferState state) const {
  std::vector<Transfer*> found;
  for (const auto& transfer : slots_) {
    if (transfer != nullptr && transfer->state == state) found.push_back(transfer.get());
  }
  std::sort(found.begin(), found.end(),
            [](const Transfer* a, const Transfer* b) { return a->request.id < b->request.id; });
  return found;
}

}  // namespace tutti
