// WindowLoads: what each application asked for in its latest window, and where that stood in line. Pure.
//
// A group of requests grows while they arrive. An application that comes back counts as large as it was in its window
// before, until it has grown beyond that: so its place is the right one from its first request on, and the same on all
// servers. And it does not overtake itself: its requests of a window go behind those of its window before, however large those
// were.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/request/flat_map.h"

namespace tutti {

class WindowLoads {
 public:
  struct Before {
    std::uint64_t load = 0;
    std::uint64_t behind = 0;  // windows up to this are its own past
  };
  // A group of the application begins in the window. Returns what is known of the one before it.
  Before begin(std::uint64_t application, std::uint64_t window) {
    if (latest_.size() >= kMost) *this = WindowLoads();
    auto found = places_.find(application);
    if (found == places_.kNone) {
      found = static_cast<std::uint32_t>(latest_.size());
      places_.insert(application, found);
      latest_.push_back({window, 0, {}});
      return {};
    }
    Latest& latest = latest_[found];
    // It comes back within its window, or late: nothing is behind it that was not before.
    if (window <= latest.window) return {latest.now.load, latest.before};
    const Before before = latest.now;
    latest = {window, before.behind, before};
    return before;
  }
  // What the group has asked for so far, and the window that it counts in.
  void set(std::uint64_t application, std::uint64_t window, const Before& now) {
    const auto found = places_.find(application);
    if (found != places_.kNone && latest_[found].window == window) latest_[found].now = now;
  }

 private:
  // Ids are the clients' word: whoever makes up ever new ones makes the server forget, nothing more.
  static constexpr std::size_t kMost = 4096;
  struct Latest {
    std::uint64_t window = 0;
    std::uint64_t before = 0;  // Before::behind of the window before
    Before now;
  };
  FlatMap<std::uint64_t, HashOfNumber> places_;  // application to place in latest_
  std::vector<Latest> latest_;
};

}  // namespace tutti
