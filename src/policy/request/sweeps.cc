#include "policy/request/sweeps.h"

#include <algorithm>
#include <cassert>

namespace tutti {

bool Sweeps::meet(const Claim& a, const Claim& b) {
  const Extent whole_a{a.begin, a.end - a.begin};
  const Extent whole_b{b.begin, b.end - b.begin};
  const std::span<const Extent> left = a.extents.empty() ? std::span(&whole_a, 1) : a.extents;
  const std::span<const Extent> right = b.extents.empty() ? std::span(&whole_b, 1) : b.extents;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < left.size() && j < right.size()) {
    if (left[i].end() <= right[j].offset) {
      ++i;
    } else if (right[j].end() <= left[i].offset) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

Sweeps::Lane Sweeps::open() {
  if (free_lanes_.empty()) {
    lanes_.emplace_back();
    return static_cast<Lane>(lanes_.size() - 1);
  }
  const Lane lane = free_lanes_.back();
  free_lanes_.pop_back();
  return lane;
}

void Sweeps::close(Lane lane) {
  assert(deserted(lane));
  Swept& swept = lanes_[lane];
  swept.line.give_memory_back();
  swept.sweep = 0;
  swept.reached = Place();
  free_lanes_.push_back(lane);
}

void Sweeps::push(Lane lane, std::uint64_t id, const Place& place, const Claim& claim) {
  std::uint32_t entry = 0;
  if (free_entries_.empty()) {
    entry = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    entry = free_entries_.back();
    free_entries_.pop_back();
  }
  index_.insert(id, entry);
  Swept& swept = lanes_[lane];
  const Turn turn{swept.sweep + (place < swept.reached ? 1 : 0), place, id};
  entries_[entry] = {turn, claim, lane};
  ++swept.members;
  swept.line.push(places_, entry, turn);
}

std::uint64_t Sweeps::take(Lane lane) {
  Swept& swept = lanes_[lane];
  const std::uint32_t entry = swept.line.top();
  swept.line.erase(places_, entry);
  const Turn& turn = entries_[entry].turn;
  swept.sweep = turn.sweep;
  swept.reached = turn.place;
  ++in_service_;
  return turn.id;
}

void Sweeps::give_back(std::uint64_t id, Bytes served) {
  const std::uint32_t entry = index_.find(id);
  Bytes& left = entries_[entry].claim.left;
  left -= std::min(served, left);
  lanes_[entries_[entry].lane].line.push(places_, entry, entries_[entry].turn);
  --in_service_;
}

void Sweeps::forget(std::uint64_t id) {
  const std::uint32_t entry = index_.find(id);
  Swept& swept = lanes_[entries_[entry].lane];
  if (places_.contains(entry)) {
    swept.line.erase(places_, entry);
  } else {
    --in_service_;
  }
  --swept.members;
  index_.erase(id);
  free_entries_.push_back(entry);
}

}  // namespace tutti
