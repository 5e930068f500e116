// io_sets: IO-Sets with the heuristic Set-10.
//
// Source: F. Boito, G. Pallez, L. Teylo, N. Vidal, "IO-Sets: Simple and Efficient Approaches for I/O Bandwidth
// Management", IEEE TPDS, 2023.
//
// An application computes and does I/O in turns; its characteristic time w_iter is the mean time between the starts of
// successive I/O phases. Applications whose w_iter has the same order of magnitude are in one set: set i = log10 of
// w_iter in seconds, rounded. Within a set one application at a time is served, first come, first served, until its
// phase ends. Sets share the bandwidth in proportion to their priorities 10^-i: those with short phases and short
// computation come first, and the others are not held up for much longer by that.
//
// In the paper a scheduler knows phases and w_iter. A data server sees requests, and this is what it makes of them:
//   - A phase begins with a request of an application that had nothing here for `phase_gap`. The mean is over all phases
//     that were seen; until the second one w_iter counts as `unknown`. The set stays for the phase.
//   - The application whose turn it is keeps its set until it had nothing here for `hold`; meanwhile other sets are
//     served, but nobody else of this one. If its phase goes on later, it stands in line again.
//   - Shares are those of start-time fair queueing over the bytes of what is dispatched, by the sets that have something
//     to do.
//
// Parameters:
//   phase_gap       ms, 100
//   hold            ms, 5
//   unknown         ms, 1000
//   dispatch_depth  requests in service at once, 16
//
// Sets are from -3 (1 ms) to 6 (11 days); beyond them the last one counts.
// Cost: O(sets + log applications + log requests of the application); there are ten sets.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/request/application_queues.h"
#include "policy/request/guarded_policy.h"
#include "policy/request/indexed_heap.h"

namespace tutti {

struct IoSetsOptions {
  Nanos phase_gap = 100_ms;
  Nanos hold = 5_ms;
  Nanos unknown = 1000_ms;
  std::uint64_t dispatch_depth = GuardedPolicy::kDefaultDepth;
};

class IoSetsPolicy : public GuardedPolicy {
 public:
  static constexpr int kFirstSet = -3;
  static constexpr int kLastSet = 6;
  explicit IoSetsPolicy(const IoSetsOptions& options)
      : GuardedPolicy(options.dispatch_depth), options_(options) {}
  [[nodiscard]] std::string name() const override;

  // The set of a characteristic time.
  static int set_of(Nanos characteristic_time);

 private:
  using Queue = ApplicationQueues::Queue;
  static constexpr Queue kNobody = kNone;
  struct Application {
    std::uint64_t phases = 0;
    Nanos first_begin, last_begin;  // of phases
    Nanos last_seen;                // when it last got something or had something finished
    std::size_t set = 0;            // its place in sets_
  };
  struct Set {
    Queue holder = kNobody;
    IndexedHeap<std::uint64_t> line;  // applications with something in line that wait for their turn
    double tag = 0;                   // virtual time at which its next request starts
    bool active = false;              // its holder has something here
  };

  void enter(Handle handle, Nanos now) override;
  Choice choose(Nanos now) override;
  void left(Handle handle, Nanos now) override;
  void ended(Handle handle, Nanos now) override;

  void begin_phase(Queue queue, Nanos now);
  [[nodiscard]] bool here(Queue queue) const { return !queues_.empty(queue) || queues_.busy(queue); }
  // Ends the turn of a holder that has been quiet for long enough, and gives it to the next.
  void pass_on(Set& set, Nanos now);
  void refresh(Set& set, Nanos now);

  IoSetsOptions options_;
  ApplicationQueues queues_;
  std::vector<Application> applications_;  // by queue
  std::array<Set, kLastSet - kFirstSet + 1> sets_;
  std::uint64_t next_place_ = 0;
  double virtual_now_ = 0;  // the tag of what was dispatched last
};

}  // namespace tutti
