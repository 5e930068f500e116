// fcfs: first come, first served, as PVFS2 does it. The baseline of every comparison.
//
// One queue per object, served in order of arrival, one request of an object at a time; up to dispatch_depth requests at
// once in all, the ones that came first. Objects in memory need no device to be kept from seeking: of those, requests that
// touch other bytes, or only read, are served at once; one that has to wait for another holds up those of its object that
// came later. Whole requests, no quanta.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/request/flat_map.h"
#include "policy/request/indexed_heap.h"
#include "policy/request/policy.h"
#include "policy/request/sweeps.h"

namespace tutti {

class FcfsPolicy : public RequestPolicy {
 public:
  static constexpr std::uint64_t kDefaultDepth = 16;
  explicit FcfsPolicy(std::uint64_t dispatch_depth) : depth_(dispatch_depth) {}

  [[nodiscard]] std::string name() const override;
  void add(const QueuedRequest& request, Nanos now) override;
  Decision next(Nanos now) override;
  void served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) override;
  void drop(std::uint64_t id, Nanos now) override;
  [[nodiscard]] std::size_t queued() const override { return lanes_.size() - lanes_.in_service(); }

 private:
  using Lane = Sweeps::Lane;
  struct InService {
    std::uint64_t id;
    Lane lane;
    Sweeps::Claim claim;
  };
  // Whether the head of the lane may be served beside those in service.
  [[nodiscard]] bool may_go(Lane lane) const;
  void settle(Lane lane);

  std::uint64_t depth_;
  Sweeps lanes_;                                    // one for each object
  std::vector<std::uint64_t> object_of_;            // by lane
  FlatMap<std::uint64_t, HashOfNumber> by_object_;  // object to lane
  IndexedHeap<std::uint64_t> heads_;                // lanes by the id of their head, if that may go
  std::vector<InService> in_service_;               // at most dispatch_depth
};

}  // namespace tutti
