// tbf: a token bucket for each application, as Lustre's NRS policy TBF with rules by job id.
//
// Source: lustre/ptlrpc/nrs_tbf.c of Lustre; Y. Qian et al., "A Configurable Rule based Classful Token Bucket Filter
// Network Request Scheduler for the Lustre File System", SC '17.
//
// A request costs a token. An application gets `rate` tokens a second and saves up to `depth`; it begins with a full
// bucket. Its requests are served in the order of arrival. The application with the earliest deadline (the time of its
// last token and the time that one token takes) decides: if it has a token, its oldest request is served; if it has
// none, nobody is served until it gets one. The tokens of an application are counted when it is served, in whole ones:
// what is left of the time is lost. That is all as in Lustre, and why it is no policy for a device that shall be busy.
//
// Parameters:
//   rate            tokens a second for each application that no rule names, 10000 (Lustre's own)
//   depth           tokens that an application can save, 3 (Lustre's own)
//   rules           rates of single applications: "7:500,100-199:50", ids and rates; the first that names an id counts
//   dispatch_depth  requests in service at once, 16
//
// Not here: rules by client, user, opcode; realtime rules; changes of rules without a new policy.
// Cost: O(log applications + log requests of the application).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/application_ids.h"
#include "policy/request/application_queues.h"
#include "policy/request/guarded_policy.h"
#include "policy/request/indexed_heap.h"

namespace tutti {

struct TbfOptions {
  struct Rule {
    ApplicationRange applications;
    std::uint64_t rate = 0;
  };
  std::uint64_t rate = 10'000;
  std::uint64_t depth = 3;
  std::vector<Rule> rules;
  std::uint64_t dispatch_depth = GuardedPolicy::kDefaultDepth;
};

class TbfPolicy : public GuardedPolicy {
 public:
  explicit TbfPolicy(TbfOptions options);
  [[nodiscard]] std::string name() const override;

 private:
  using Queue = ApplicationQueues::Queue;
  struct Bucket {
    Nanos period;  // that one token takes
    std::uint64_t tokens = 0;
    Nanos checked;  // when they were counted
  };
  struct Deadline {
    Nanos time;
    Nanos checked;
    auto operator<=>(const Deadline&) const = default;
  };

  void enter(Handle handle, Nanos now) override;
  Choice choose(Nanos now) override;
  void left(Handle handle, Nanos now) override;
  void ended(Handle handle, Nanos now) override;

  [[nodiscard]] Nanos period_of(std::uint64_t application) const;
  [[nodiscard]] Deadline deadline_of(Queue queue) const;

  TbfOptions options_;
  ApplicationQueues queues_;
  std::vector<Bucket> buckets_;      // by queue
  IndexedHeap<Deadline> deadlines_;  // queues with somebody in line
};

}  // namespace tutti
