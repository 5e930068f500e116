// WindowLoads: what each application asked for lately, and where that stood in line. Pure.
//
// A group of requests grows while they arrive. An application that comes back counts as large as it was the last few times,
// until it has grown beyond that: so its place is the right one from its first request on, and the same on all
// servers. And it does not overtake itself: its requests of a window go behind those of its window before, however large those
// were.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "policy/request/flat_map.h"

namespace tutti {

class WindowLoads {
 public:
  struct Before {
    std::uint64_t load = 0;
    std::uint64_t behind = 0;  // windows up to this are its own past
    std::uint32_t place = 0;   // of the application here, for set()
  };
  // A group of the application begins in the window. Returns what is known of those before it.
  Before begin(std::uint64_t application, std::uint64_t window) {
    if (known_.size() >= kMost) *this = WindowLoads();
    auto found = places_.find(application);
    if (found == places_.kNone) {
      found = static_cast<std::uint32_t>(known_.size());
      places_.insert(application, found);
      known_.emplace_back();
      known_.back().window = window;
      return {0, 0, found};
    }
    Known& known = known_[found];
    const std::uint64_t load = *std::max_element(known.loads.begin(), known.loads.end());
    // It comes back within its window, or late: nothing is behind it that was not before.
    if (window > known.window) {
      known.window = window;
      known.before = known.behind;
    }
    std::rotate(known.loads.begin(), known.loads.end() - 1, known.loads.end());
    known.loads.front() = 0;
    return {load, known.before, found};
  }
  // What the group of the window has asked for so far, and the window that it counts in.
  void set(std::uint32_t place, std::uint64_t window, std::uint64_t load, std::uint64_t counts_in) {
    if (place >= known_.size() || known_[place].window != window)
      return;  // forgotten, or a later one is here
    known_[place].loads.front() = load;
    known_[place].behind = counts_in;
  }

 private:
  // Ids are the clients' word: whoever makes up ever new ones makes the server forget, nothing more.
  static constexpr std::size_t kMost = 4096;
  // Whose requests begin to arrive when a window ends has two groups that are smaller than usual: the largest of some counts.
  static constexpr std::size_t kGroups = 3;
  struct Known {
    std::uint64_t window = 0;
    std::uint64_t before = 0;                       // Before::behind of the window before
    std::uint64_t behind = 0;                       // of this one
    std::array<std::uint64_t, kGroups> loads = {};  // of its latest groups, the present one first
  };
  FlatMap<std::uint64_t, HashOfNumber> places_;  // application to place in known_
  std::vector<Known> known_;
};

}  // namespace tutti
