// Sweeps: requests, known by their ids, in lanes of which each is swept from its lowest place to its highest, again and
// again.
//
// What comes in at or behind the place that a sweep has reached is taken in this sweep, what comes in before it in the
// next one: the head goes over a disk in one direction. Requests of the same place keep the order of their ids, so with
// one place for all a lane is first in, first out. Request policies have one lane for the requests that follow each other
// anyway (those of one object, or of one application and window), so that only lanes need ranking. A request taken into
// service keeps its lane and may come back where it was. All in pools; a change takes O(log n) of the lane's length.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/extent.h"
#include "base/units.h"
#include "policy/request/flat_map.h"
#include "policy/request/indexed_heap.h"
#include "policy/request/policy.h"

namespace tutti {

class Sweeps {
 public:
  using Lane = std::uint32_t;
  struct Place {
    std::uint64_t object = 0;
    Bytes offset;
    auto operator<=>(const Place&) const = default;
  };
  // The bytes that a request touches, for those who care.
  struct Claim {
    std::uint64_t object = 0;
    Bytes begin, end;
    bool write = false;
    std::span<const Extent> extents;  // ascending; empty: all from begin to end
    Bytes length;                     // how many bytes in all,
    Bytes left;                       // and of them, how many have not been served
    // Both touch the same bytes, and one of them changes them.
    [[nodiscard]] bool conflicts(const Claim& other) const {
      return object == other.object && (write || other.write) && begin < other.end && other.begin < end &&
             meet(*this, other);
    }
  };
  static Claim claim_of(const QueuedRequest& request) {
    return {request.object,  request.offset, request.end,   request.write,
            request.extents, request.length, request.length};
  }

  Lane open();
  // The lane holds nothing, in line or in service.
  void close(Lane lane);

  // Ids ascend, but for those that come over from another policy.
  void push(Lane lane, std::uint64_t id, const Place& place, const Claim& claim);
  void push(Lane lane, std::uint64_t id, const Place& place) { push(lane, id, place, Claim()); }
  // Takes who is next in the lane into service.
  std::uint64_t take(Lane lane);
  // From service back into the line, with `served` bytes less to serve.
  void give_back(std::uint64_t id, Bytes served = Bytes());
  // Forgets a request, in line or in service.
  void forget(std::uint64_t id);

  [[nodiscard]] Lane lane_of(std::uint64_t id) const { return entries_[index_.find(id)].lane; }
  // Of a lane that is not empty: who is next, and what it touches.
  [[nodiscard]] std::uint64_t head(Lane lane) const { return head_entry(lane).turn.id; }
  [[nodiscard]] const Claim& claim_of_head(Lane lane) const { return head_entry(lane).claim; }
  // Nobody in line.
  [[nodiscard]] bool empty(Lane lane) const { return lanes_[lane].line.empty(); }
  // Nobody in line or in service.
  [[nodiscard]] bool deserted(Lane lane) const { return lanes_[lane].members == 0; }
  [[nodiscard]] std::size_t size() const { return index_.size(); }
  [[nodiscard]] std::size_t in_service() const { return in_service_; }

 private:
  // Whether two claims that lie within each other's bounds have a byte in common.
  [[nodiscard]] static bool meet(const Claim& a, const Claim& b);

  struct Turn {
    std::uint64_t sweep = 0;
    Place place;
    std::uint64_t id = 0;
    auto operator<=>(const Turn&) const = default;
  };
  struct Entry {
    Turn turn;
    Claim claim;
    Lane lane = 0;
  };
  struct Swept {
    Heap<Turn> line;
    std::uint64_t sweep = 0;
    Place reached;
    std::uint32_t members = 0;
  };

  [[nodiscard]] const Entry& head_entry(Lane lane) const { return entries_[lanes_[lane].line.top()]; }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_entries_;
  HeapPlaces places_;  // of entries that are in line, in the heap of their lane
  std::vector<Swept> lanes_;
  std::vector<Lane> free_lanes_;
  FlatMap<std::uint64_t, HashOfNumber> index_;  // request id to entry
  std::size_t in_service_ = 0;
};

}  // namespace tutti
