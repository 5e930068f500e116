// twins: time windows in each of which one queue alone is served, as the scheduler TWINS of AGIOS.
//
// Source: src/TWINS.c of AGIOS (github.com/francielizanon/agios); J. L. Bez, F. Z. Boito et al., "TWINS: Server Access
// Coordination in the I/O Forwarding Layer", PDP 2017.
//
// TWINS was made for I/O nodes, where a queue holds what goes to one data server. On a data server the queues are those
// of the applications. In a window only the requests of one application are taken, first come, first served; when its
// queue is empty, nobody is served until something comes for it or the window ends, as in AGIOS. Then the application
// with the next higher id has its window, after the highest the lowest. A window begins when it is first asked for, as
// in AGIOS, not on a grid: servers do not agree on the windows.
//
// Parameters:
//   window          length of a window in microseconds, 2000 (that of agios.conf)
//   dispatch_depth  requests in service at once, 16
//
// Differs: applications come and go, so a window goes to one that has something in line when it begins (AGIOS gives
// windows to all its queues, empty or not).
// Cost: O(log applications + log requests of the application).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "policy/request/application_queues.h"
#include "policy/request/guarded_policy.h"

namespace tutti {

class TwinsPolicy : public GuardedPolicy {
 public:
  static constexpr Nanos kDefaultWindow = 2000_us;
  TwinsPolicy(Nanos window, std::uint64_t dispatch_depth) : GuardedPolicy(dispatch_depth), window_(window) {}
  [[nodiscard]] std::string name() const override;

 private:
  using Queue = ApplicationQueues::Queue;
  struct Window {
    std::uint64_t application = 0;
    Nanos begin;
  };

  void enter(Handle handle, Nanos now) override;
  Choice choose(Nanos now) override;
  void left(Handle handle, Nanos now) override;
  void ended(Handle handle, Nanos now) override;

  void begin_window(Nanos now);

  Nanos window_;
  ApplicationQueues queues_;
  std::map<std::uint64_t, Queue> waiting_;  // applications with somebody in line
  std::optional<Window> current_;           // since the first request
};

}  // namespace tutti
