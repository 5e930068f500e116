// Claims: which bytes the requests of a server touch that are not finished yet, and who has to wait for whom. Pure.
//
// Two requests conflict if they touch the same bytes and one of them writes. The later one of the two waits until the
// earlier one is gone, so conflicting requests are served in the order in which they came and never at once. Requests
// are known by handles (small numbers).
//
// Reads and writes are in a treap each, by object and first byte; a node knows how far the intervals below it reach and
// the earliest of them. Its shape depends on its content alone. A change takes O(log n); earlier() takes that too unless
// many intervals lie around the bytes that it is asked for without touching them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/units.h"

namespace tutti {

class Claims {
 public:
  using Handle = std::uint32_t;
  static constexpr Handle kNone = std::numeric_limits<Handle>::max();

  // The handle is not in use. Each is later than all that were added before.
  void add(Handle handle, std::uint64_t object, Bytes begin, Bytes end, bool write);
  void remove(Handle handle);
  // One that came earlier and conflicts with this one, which is here; kNone if there is none.
  [[nodiscard]] Handle earlier(Handle handle) const;

 private:
  struct Spot {
    std::uint64_t object = 0;
    Bytes offset;
    auto operator<=>(const Spot&) const = default;
  };
  struct Node {
    Spot begin, end;
    Spot reach;  // the last end at or below the node
    std::uint64_t order = 0;
    std::uint64_t earliest = 0;  // the least order at or below the node
    std::uint64_t priority = 0;
    Handle left = kNone;
    Handle right = kNone;
    bool write = false;
  };

  [[nodiscard]] bool before(Handle a, Handle b) const;
  void update(Handle handle);
  void split(Handle tree, Handle at, Handle& left, Handle& right);
  Handle merge(Handle left, Handle right);
  Handle insert(Handle tree, Handle handle);
  Handle erase(Handle tree, Handle handle);
  [[nodiscard]] Handle find(Handle tree, const Node& wanted) const;

  std::vector<Node> nodes_;                       // by handle
  std::array<Handle, 2> trees_ = {kNone, kNone};  // reads, writes
  std::uint64_t next_order_ = 0;
};

}  // namespace tutti
