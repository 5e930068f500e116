// fcfs: first come, first served, as PVFS2 does it. The baseline of every comparison.
//
// One queue per object, served in order of arrival, one request of an object at a time; up to dispatch_depth
// objects at once, the ones whose head came first. Whole requests, no quanta.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "policy/request/policy.h"

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
  [[nodiscard]] std::size_t queued() const override { return object_of_.size() - dispatched_; }

 private:
  struct ObjectQueue {
    std::deque<std::uint64_t> ids;  // in order of arrival; the head may be dispatched
    bool busy = false;
  };
  using Queues = std::unordered_map<std::uint64_t, ObjectQueue>;
  void retire(Queues::iterator queue);

  std::uint64_t depth_;
  std::uint64_t dispatched_ = 0;
  Queues queues_;                                       // by object
  std::unordered_map<std::uint64_t, std::uint64_t> object_of_;  // request id to object
  std::set<std::uint64_t> heads_;                       // ids at the head of queues that are not busy
};

}  // namespace tutti
