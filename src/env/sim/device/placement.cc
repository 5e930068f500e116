#include "env/sim/device/placement.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace tutti {

Placement::Placement(Bytes capacity, const PlacementOptions& options) : options_(options) {
  const Bytes start = std::min(options_.start, capacity);
  const Bytes span = options_.span > Bytes() ? std::min(options_.span, capacity - start) : capacity - start;
  options_.start = start;
  options_.extent = std::max(options_.extent, 4_KiB);
  users_.resize(static_cast<std::size_t>(std::max<std::uint64_t>(span / options_.extent, 1)));
  free_ = users_.size();
}

std::uint64_t Placement::take(std::uint64_t preferred) {
  std::uint64_t slot = preferred % users_.size();
  if (free_ > 0) {
    while (users_[slot] > 0) slot = (slot + 1) % users_.size();
    --free_;
  }
  ++users_[slot];
  last_ = slot;
  return slot;
}

std::uint64_t Placement::place(ObjectId object, Extents& extents, std::uint64_t number) {
  if (extents.empty()) {
    const bool first = std::exchange(any_, true) == false;
    if (options_.packed) return take(first ? 0 : last_ + 1 + options_.gap / options_.extent);
    if (options_.salt != 0 && (first || !options_.adjacent)) {
      next_start_ = take(mix64(mix64(options_.salt) ^ object.value) % users_.size());
      return next_start_;
    }
    if (options_.adjacent) {
      // Behind the last one, and its inode's block group.
      next_start_ = take(next_start_ + 1);
      return next_start_;
    }
    const std::uint64_t slot = take(next_start_);
    next_start_ = (options_.distance > Bytes() ? next_start_ : slot) +
                  std::max<std::uint64_t>(options_.distance / options_.extent, 1);
    return slot;
  }
  if (options_.fragmented)
    return take(mix64(mix64(options_.salt) ^ mix64(object.value) ^ number) % users_.size());
  // As far from the nearest extent before (or the first) as in the object.
  auto before = extents.upper_bound(number);
  if (before == extents.begin()) return take(before->second + users_.size() - 1);
  --before;
  return take(before->second + (number - before->first) % users_.size());
}

Bytes Placement::locate(ObjectId object, Bytes offset) {
  Extents& extents = objects_[object];
  const std::uint64_t number = offset / options_.extent;
  auto found = extents.find(number);
  if (found == extents.end()) found = extents.emplace(number, place(object, extents, number)).first;
  return options_.start + options_.extent * found->second + offset % options_.extent;
}

void Placement::place_whole(ObjectId object, Bytes length) {
  locate(object, Bytes());
  for (Bytes offset = options_.extent; offset < length; offset += options_.extent) locate(object, offset);
}

void Placement::remove(ObjectId object) {
  const auto found = objects_.find(object);
  if (found == objects_.end()) return;
  for (const auto& [number, slot] : found->second) {
    if (--users_[slot] == 0) ++free_;
  }
  objects_.erase(found);
}

}  // namespace tutti
