// AnticipatoryScheduler: see scheduler.h.
#pragma once

#include <deque>
#include <map>

#include "env/sim/device/sorted_requests.h"

namespace tutti {

class AnticipatoryScheduler final : public IoScheduler {
 public:
  explicit AnticipatoryScheduler(const SchedulerOptions& options) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "anticipatory"; }
  void add(IoRequest& request, Nanos now) override;
  Choice next(Nanos now) override;
  void completed(const IoRequest& request, Nanos now) override;
  void ended(std::uint64_t stream) override;

 private:
  // Background requests of all streams share one queue, as CFQ's asynchronous ones do.
  struct Key {
    bool background = false;
    std::uint64_t stream = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Queue {
    SortedRequests requests;
    bool in_round = false;
    Nanos last_done;
    Nanos mean_gap;  // between a completion that left it empty and the next request; recent ones count more
    bool seen = false;
    bool ended = false;
    std::uint32_t in_device = 0;
  };
  static Key key_of(const IoRequest& request) {
    return request.what.background ? Key{true, 0} : Key{false, request.what.stream};
  }
  // Until when the empty active queue deserves waiting for; 0 if it does not.
  [[nodiscard]] Nanos wait_until(const Queue& queue, Nanos now) const;
  void end_slice();
  bool begin_slice(Nanos now);
  // Of a stream that has ended and has nothing here.
  void forget_if_over(const Key& key);

  SchedulerOptions options_;
  std::map<Key, Queue> queues_;  // kept when empty: their habits are worth knowing
  std::deque<Key> round_;        // queues with requests, in the order of their turns
  bool active_ = false;
  Key active_key_;
  Nanos slice_end_;
  Bytes position_;
};

}  // namespace tutti
