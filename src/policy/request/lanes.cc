#include "policy/request/lanes.h"

#include <cassert>

namespace tutti {

Lanes::Lane Lanes::open() {
  if (free_lanes_.empty()) {
    lanes_.emplace_back();
    return static_cast<Lane>(lanes_.size() - 1);
  }
  const Lane lane = free_lanes_.back();
  free_lanes_.pop_back();
  return lane;
}

void Lanes::close(Lane lane) {
  assert(deserted(lane));
  free_lanes_.push_back(lane);
}

void Lanes::push(Lane lane, std::uint64_t id, const Claim& claim) {
  std::uint32_t entry = 0;
  if (free_entries_.empty()) {
    entry = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    entry = free_entries_.back();
    free_entries_.pop_back();
  }
  index_.insert(id, entry);
  entries_[entry].id = id;
  entries_[entry].claim = claim;
  entries_[entry].lane = lane;
  ++lanes_[lane].members;
  link(entry, lanes_[lane].tail);
}

std::uint64_t Lanes::take(Lane lane) {
  const std::uint32_t entry = lanes_[lane].head;
  unlink(entry);
  ++in_service_;
  return entries_[entry].id;
}

void Lanes::give_back(std::uint64_t id) {
  const std::uint32_t entry = index_.find(id);
  assert(!entries_[entry].in_line);
  std::uint32_t before = kNone;
  std::uint32_t behind = lanes_[entries_[entry].lane].head;
  while (behind != kNone && entries_[behind].id < id) {
    before = behind;
    behind = entries_[behind].behind;
  }
  link(entry, before);
  --in_service_;
}

void Lanes::forget(std::uint64_t id) {
  const std::uint32_t entry = index_.find(id);
  if (entries_[entry].in_line) {
    unlink(entry);
  } else {
    --in_service_;
  }
  --lanes_[entries_[entry].lane].members;
  index_.erase(id);
  free_entries_.push_back(entry);
}

void Lanes::link(std::uint32_t entry, std::uint32_t before) {
  Line& line = lanes_[entries_[entry].lane];
  std::uint32_t& from_before = before == kNone ? line.head : entries_[before].behind;
  entries_[entry].before = before;
  entries_[entry].behind = from_before;
  (from_before == kNone ? line.tail : entries_[from_before].before) = entry;
  from_before = entry;
  entries_[entry].in_line = true;
}

void Lanes::unlink(std::uint32_t entry) {
  Entry& leaving = entries_[entry];
  Line& line = lanes_[leaving.lane];
  (leaving.before == kNone ? line.head : entries_[leaving.before].behind) = leaving.behind;
  (leaving.behind == kNone ? line.tail : entries_[leaving.behind].before) = leaving.before;
  leaving.in_line = false;
}

}  // namespace tutti
