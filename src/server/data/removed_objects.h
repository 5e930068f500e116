// RemovedObjects: the files whose removal a data server was told of, while somebody may still hold a capability for
// them: one that is shown is refused, so that objects of removed files do not come back. Pure.
//
// File ids are never used again and are given out in order; 64 neighbours share an entry, which is kept until the last
// of them may go, to the minute. Beyond kMost entries the oldest go early.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include "base/status.h"
#include "base/units.h"
#include "env/store.h"

namespace tutti {

class RemovedObjects {
 public:
  static constexpr std::size_t kMost = 1'000'000;

  // Remembers the object until `until`, and forgets those whose time is over at `now`. Both on the same clock.
  void add(ObjectId object, Nanos until, Nanos now) {
    until = Nanos((until.count() / kGrain.count() + 1) * kGrain.count());
    Block& block = blocks_[object.value / kNeighbours];
    block.members |= bit(object);
    if (until > block.until) {
      block.until = until;
      order_.emplace_back(until, object.value / kNeighbours);
    }
    forget(now);
  }
  [[nodiscard]] bool contains(ObjectId object) const {
    if (blocks_.empty()) return false;
    const auto found = blocks_.find(object.value / kNeighbours);
    return found != blocks_.end() && (found->second.members & bit(object)) != 0;
  }
  // What a request for one of them is answered.
  static Status refusal() { return {Code::stale, "the file was removed"}; }
  // Entries, for tests.
  [[nodiscard]] std::size_t size() const { return blocks_.size(); }

 private:
  static constexpr std::uint64_t kNeighbours = 64;
  static constexpr Nanos kGrain = 60_s;
  struct Block {
    std::uint64_t members = 0;
    Nanos until;
  };

  static std::uint64_t bit(ObjectId object) { return std::uint64_t{1} << (object.value % kNeighbours); }
  void forget(Nanos now) {
    while (!order_.empty() && (order_.front().first < now || blocks_.size() > kMost)) {
      const auto found = blocks_.find(order_.front().second);
      if (found != blocks_.end() && found->second.until == order_.front().first) blocks_.erase(found);
      order_.pop_front();
    }
  }

  std::unordered_map<std::uint64_t, Block> blocks_;
  std::deque<std::pair<Nanos, std::uint64_t>> order_;  // one for each time that a block's end moved
};

}  // namespace tutti
