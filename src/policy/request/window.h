// window: coordination by time window and application (paper 1, sections 3.1 and 4.1).
//
// All servers serve one application at a time, in the same order, without talking to each other: what decides
// is in the request. A smaller priority goes first:
//   priority = (request time in ms / interval in ms) * 32768 + application id
// in one queue for the whole server, dispatched one by one from its head. An empty queue serves at once. An
// earlier window always goes first, so nothing starves. The requests of an application in a window form one
// group, which stays together even if another application has the same 15-bit id (then the 64-bit ids
// decide). Within a group priorities are equal, and `within` decides. Two requests that touch the same bytes, and not
// only to read, are never in service at once.
//
// Parameters are in window_options.h, the ranking of the orders other than the paper's in window_rank.h.
//
// Cost: a change takes O(log groups + log requests of the group).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/request/fingerprints.h"
#include "policy/request/flat_map.h"
#include "policy/request/indexed_heap.h"
#include "policy/request/policy.h"
#include "policy/request/service_rate.h"
#include "policy/request/sweeps.h"
#include "policy/request/window_grid.h"
#include "policy/request/window_loads.h"
#include "policy/request/window_options.h"
#include "policy/request/window_rank.h"

namespace tutti {

class WindowPolicy : public RequestPolicy {
 public:
  explicit WindowPolicy(const WindowOptions& options);

  [[nodiscard]] std::string name() const override { return window_name(options_); }
  [[nodiscard]] Bytes ahead() const override { return options_.ahead; }
  void add(const QueuedRequest& request, Nanos now) override;
  Decision next(Nanos now) override;
  void served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) override;
  void drop(std::uint64_t id, Nanos now) override;
  [[nodiscard]] std::size_t queued() const override { return lanes_.size() - lanes_.in_service(); }
  [[nodiscard]] PolicyCounters counters() const override;

 private:
  static constexpr Nanos kAlone = 1_s;
  using Lane = Sweeps::Lane;
  // The requests of one application in one window. Lives as long as one of them is in line or in service.
  struct Group {
    TimeWindow window;
    std::uint64_t application = 0;
    std::uint64_t load = 0;
    WindowLoads::Before before;  // for order=classes
    Fingerprints operations;     // those counted in the load, by client and sequence
    WindowRank rank;
    bool blocked = false;  // see blocked_
  };
  struct InService {
    std::uint64_t id = 0;
    Lane lane = 0;
    WindowRank rank;
    Sweeps::Claim claim;
    Bytes bytes;  // at most, in this turn, as far as they count in the budget
    bool crossed = false;
  };

  Lane group_of(const QueuedRequest& request);
  void add_load(Group& group, const QueuedRequest& request) const;
  [[nodiscard]] WindowRank rank_of(const Group& group) const;
  // Whether the head of the lane touches what one in service touches.
  [[nodiscard]] bool conflicts(Lane lane) const;
  // Whether the head of the lane may be started beside those in service.
  [[nodiscard]] bool fits(Lane lane, Nanos now) const;
  // How many bytes of such a request may be served before it is asked again.
  [[nodiscard]] Bytes turn_of(bool write, Nanos now) const;
  // Whether no other application has been heard of lately: then nobody waits for longer turns, or for more in service.
  [[nodiscard]] bool alone(Nanos now) const { return !others_ || now - *others_ >= kAlone; }
  Decision start(Lane lane, Nanos now);
  // Removes it from those in service, of which so many bytes were served.
  Lane end_service(std::uint64_t id, Bytes bytes, Nanos now);
  void block(Lane lane);
  void unblock(Lane lane);
  void note_crossovers(const WindowRank& arrived);
  void settle(Lane lane);
  void measure(Nanos now);

  WindowOptions options_;
  WindowGrid grid_;
  Sweeps lanes_;                               // one for each group
  std::vector<Group> groups_;                  // by lane
  FlatMap<NumberPair, HashOfPair> by_window_;  // (window's start, application) to lane
  WindowLoads loads_;                          // for order=classes
  IndexedHeap<WindowRank> heads_;              // lanes that have somebody in line and are not blocked
  std::vector<Lane> blocked_;                  // lanes whose head waits for one in service
  std::vector<InService> in_service_;          // at most dispatch_depth
  Bytes in_flight_;                            // of those in service
  ServiceRate rate_;                           // of reads
  std::uint64_t application_ = 0;              // that came last,
  std::optional<Nanos> others_;                // and when one came that was another than the one before
  PolicyCounters counters_;
};

}  // namespace tutti
