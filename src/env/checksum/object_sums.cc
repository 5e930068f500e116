#include "env/checksum/object_sums.h"

#include <algorithm>

#include "base/random.h"

namespace tutti {
namespace {

// Never 0, which is that of a hole.
std::uint32_t mark_of(ObjectId object, std::uint64_t block, std::uint32_t sum) {
  return static_cast<std::uint32_t>(mix64(mix64(object.value) ^ (block << 32U) ^ (block >> 32U) ^ sum)) | 1U;
}

}  // namespace

SumEntry SumEntry::of(ObjectId object, std::uint64_t block, const SumBlock& state) {
  if (!state.known) return {};
  return {state.sum, mark_of(object, block, state.sum)};
}

SumBlock SumEntry::decode(ObjectId object, std::uint64_t block) const {
  if (mark == 0 && sum == 0) return {};
  const bool sound = mark == mark_of(object, block, sum);
  return {sound ? sum : 0, sound, true};
}

void ObjectSums::forget(std::uint64_t first, std::uint64_t end) {
  for (auto region = regions.lower_bound(first / kRegion);
       region != regions.end() && region->first * kRegion < end; ++region) {
    const std::uint64_t begin = region->first * kRegion;
    for (std::uint64_t block = std::max(first, begin); block < std::min(end, begin + kRegion); ++block) {
      SumBlock& state = (*region->second)[block - begin];
      state.known = false;
      set_dirty(state);
    }
  }
}

void ObjectSums::drop(std::uint64_t first) {
  for (auto region = regions.lower_bound(first / kRegion); region != regions.end(); ++region) {
    const std::uint64_t begin = region->first * kRegion;
    for (std::uint64_t block = std::max(first, begin); block < begin + kRegion; ++block) {
      SumBlock& state = (*region->second)[block - begin];
      set_clean(state);
      state = {};
    }
  }
}

std::size_t ObjectSums::busy(std::uint64_t block) const {
  const auto touches = [&](const Extent& extent) {
    return block_of(extent.offset) <= block && block < block_end(extent);
  };
  return static_cast<std::size_t>(std::count_if(changing.begin(), changing.end(), [&](const Change& change) {
    const auto& extents = change.extents;
    if (!change.ascending) return std::any_of(extents.begin(), extents.end(), touches);
    const auto first = std::partition_point(extents.begin(), extents.end(),
                                            [&](const Extent& extent) { return block_end(extent) <= block; });
    return first != extents.end() && touches(*first);
  }));
}

ChangingBlocks::ChangingBlocks(std::shared_ptr<ObjectSums> sums, std::span<const Extent> extents)
    : sums_(std::move(sums)), extents_(extents) {
  sums_->changing.push_back({extents_, ascending(extents_)});
  ++sums_->changes;
}

ChangingBlocks::~ChangingBlocks() {
  if (!applied_) {
    for (const Extent& extent : extents_) sums_->forget(block_of(extent.offset), block_end(extent));
  }
  const auto mine = std::find_if(sums_->changing.begin(), sums_->changing.end(), [&](const auto& each) {
    return each.extents.data() == extents_.data() && each.extents.size() == extents_.size();
  });
  sums_->changing.erase(mine);
  ++sums_->changes;
  sums_->changed.set();
}

}  // namespace tutti
