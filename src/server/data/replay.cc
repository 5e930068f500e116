#include "server/data/replay.h"

#include <algorithm>

namespace tutti {

void ReplayRecord::forget_before(std::uint64_t number) {
  if (changes_.empty() || changes_.front().number >= number) return;
  std::erase_if(changes_, [number](const Change& each) { return each.number < number; });
}

Bytes ReplayRecord::applied(std::uint64_t number, Bytes length, std::uint64_t cuts) const {
  for (const Change& each : changes_) {
    if (each.number != number) continue;
    return each.applied >= length || each.cuts == cuts ? std::min(each.applied, length) : 0_B;
  }
  return {};
}

std::optional<std::uint64_t> ReplayRecord::cuts(std::uint64_t number) const {
  for (const Change& each : changes_) {
    if (each.number == number) return each.cuts;
  }
  return std::nullopt;
}

void ReplayRecord::note(std::uint64_t number, Bytes bytes, std::uint64_t cuts) {
  const auto place =
      std::lower_bound(changes_.begin(), changes_.end(), number,
                       [](const Change& each, std::uint64_t value) { return each.number < value; });
  if (place != changes_.end() && place->number == number) {
    place->applied = bytes;
    place->cuts = cuts;
    return;
  }
  changes_.insert(place, Change{number, bytes, cuts});
  if (changes_.size() > kMost) changes_.erase(changes_.begin());
}

std::shared_ptr<ReplayRecord> ReplayRecords::open(std::uint32_t uid, std::uint64_t client) {
  const Key key{uid, client};
  Entry& entry = records_[key];
  if (entry.record == nullptr) entry.record = std::make_shared<ReplayRecord>();
  if (entry.gone) gone_.erase(entry.place);
  entry.gone = false;
  return entry.record;
}

void ReplayRecords::close(std::uint32_t uid, std::uint64_t client) {
  const Key key{uid, client};
  const auto found = records_.find(key);
  if (found == records_.end() || found->second.gone) return;
  if (found->second.record->size() == 0) {
    records_.erase(found);
    return;
  }
  found->second.place = gone_.insert(gone_.end(), key);
  found->second.gone = true;
  if (gone_.size() <= kKept) return;
  records_.erase(gone_.front());
  gone_.pop_front();
}

}  // namespace tutti
