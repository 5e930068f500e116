// orr: object-based round robin, as Lustre's NRS policy ORR.
//
// Source: lustre/ptlrpc/nrs_orr.c of Lustre (Liang Zhen, Nikitas Angelinas).
//
// Requests are served in rounds. A round has at most one batch of each object, of at most `quantum` requests, and within
// a batch requests go by offset, at the same offset the shorter one first. Batches of a round go in the order in which
// their first requests came. A request joins the batch of its object while that has room; then, or when the object had
// nothing in line for a while, it begins a batch of the next round, or of the round that is being served if that is
// later. A batch is served while it is still being filled: one that comes with a lower offset goes next, not in another
// sweep.
//
// Parameters:
//   quantum         requests of one object in a round, 256 (Lustre's own)
//   dispatch_depth  requests in service at once, 16
//
// Differs: reads and writes are ordered (Lustre: reads, unless nrs_orr_supported says otherwise); offsets are those in
// the object (Lustre asks the file system below for the place on the disk).
// Cost: O(log requests).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/request/flat_map.h"
#include "policy/request/guarded_policy.h"
#include "policy/request/indexed_heap.h"

namespace tutti {

class OrrPolicy : public GuardedPolicy {
 public:
  static constexpr std::uint64_t kDefaultQuantum = 256;
  OrrPolicy(std::uint64_t quantum, std::uint64_t dispatch_depth)
      : GuardedPolicy(dispatch_depth), quantum_(quantum) {}
  [[nodiscard]] std::string name() const override;

 private:
  // An object with requests in line or in service, and the batch that is being filled.
  struct Batches {
    std::uint64_t object = 0;
    std::uint64_t round = 0;
    std::uint64_t sequence = 0;
    std::uint64_t room = 0;
    std::uint64_t in_line = 0;
    std::uint64_t here = 0;  // in line or in service
  };
  struct Rank {
    std::uint64_t round = 0;
    std::uint64_t sequence = 0;
    Bytes offset, end;
    std::uint64_t id = 0;
    auto operator<=>(const Rank&) const = default;
  };

  void enter(Handle handle, Nanos now) override;
  Choice choose(Nanos now) override;
  void left(Handle handle, Nanos now) override;
  void ended(Handle handle, Nanos now) override;

  std::uint32_t slot_of(std::uint64_t object);
  void begin_batch(Batches& batches);
  void leave_line(Handle handle);

  std::uint64_t quantum_;
  std::uint64_t round_ = 0;     // that is being served
  std::uint64_t sequence_ = 1;  // of the batch that was begun last
  std::vector<Batches> slots_;
  std::vector<std::uint32_t> free_slots_;
  FlatMap<std::uint64_t, HashOfNumber> by_object_;  // object to slot
  std::vector<Rank> rank_;                          // by request
  IndexedHeap<Rank> line_;                          // requests
};

}  // namespace tutti
