// Lanes: requests, known by their ids, in lanes of which each is first in, first out.
//
// What fcfs keeps its requests in: one lane for the requests of an object, so that only lanes need ranking. A request
// taken into service keeps its lane and may come back to its place by id. All in pools, each operation O(1);
// give_back() passes those that were taken before it and came back, at most the dispatch depth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "policy/request/flat_map.h"

namespace tutti {

class Lanes {
 public:
  using Lane = std::uint32_t;
  // What a request touches.
  struct Claim {
    Bytes begin, end;
    bool write = false;
    [[nodiscard]] bool conflicts(const Claim& other) const {
      return (write || other.write) && begin < other.end && other.begin < end;
    }
  };

  Lane open();
  // The lane holds nothing, in line or in service.
  void close(Lane lane);

  // Ids ascend.
  void push(Lane lane, std::uint64_t id, const Claim& claim);
  // Takes the head of the lane into service.
  std::uint64_t take(Lane lane);
  // From service back into the line; only those taken before it stand before it.
  void give_back(std::uint64_t id);
  // Forgets a request, in line or in service.
  void forget(std::uint64_t id);

  [[nodiscard]] Lane lane_of(std::uint64_t id) const { return entries_[index_.find(id)].lane; }
  [[nodiscard]] std::uint64_t head(Lane lane) const { return entries_[lanes_[lane].head].id; }
  [[nodiscard]] const Claim& claim_of_head(Lane lane) const { return entries_[lanes_[lane].head].claim; }
  // Nobody in line.
  [[nodiscard]] bool empty(Lane lane) const { return lanes_[lane].head == kNone; }
  // Nobody in line or in service.
  [[nodiscard]] bool deserted(Lane lane) const { return lanes_[lane].members == 0; }
  [[nodiscard]] std::size_t size() const { return index_.size(); }
  [[nodiscard]] std::size_t in_service() const { return in_service_; }

 private:
  using Index = FlatMap<std::uint64_t, HashOfNumber>;
  static constexpr std::uint32_t kNone = Index::kNone;
  struct Entry {
    std::uint64_t id = 0;
    Claim claim;
    Lane lane = 0;
    std::uint32_t before = kNone;
    std::uint32_t behind = kNone;
    bool in_line = false;
  };
  struct Line {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
    std::uint32_t members = 0;
  };
  // Links the entry in behind `before`; kNone: at the head.
  void link(std::uint32_t entry, std::uint32_t before);
  void unlink(std::uint32_t entry);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_entries_;
  std::vector<Line> lanes_;
  std::vector<Lane> free_lanes_;
  Index index_;  // request id to entry
  std::size_t in_service_ = 0;
};

}  // namespace tutti
