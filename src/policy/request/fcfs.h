// fcfs: first come, first served, as PVFS2 2.8 does it. The baseline of every comparison.
//
// In order of arrival, up to dispatch_depth requests at once, 16 as PVFS2's TroveMaxConcurrentIO, those of one object too.
// Only requests that touch the same bytes, and not only to read, follow each other (PVFS2 leaves that to chance): one that
// has to wait holds up those of its object that came later. Whole requests, no quanta. `dispatch_depth=1` is the single file
// that the paper on window coordination compares with.
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
