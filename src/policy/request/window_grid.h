// WindowGrid: in which time window a request belongs. All servers must say the same without talking.
//
// With a fixed interval a window is (request time in ms) / interval, as in the paper: nothing but the request
// decides.
//
// With an adaptive one each server chooses its interval from what it measures, so two servers may differ for
// a while. What keeps that harmless:
//  - The choice is from a grid, shortest * 2^k up to longest, and windows begin at multiples of their length
//    since 1970. So the windows of two servers nest, they never overlap halfway: whatever lies in different
//    windows of the longer interval has the same order on both, and inside one of them both serve one
//    application at a time.
//  - An interval holds from a window's begin on, and a longer one only from a begin that is its own multiple
//    too. So the windows of one server do not overlap, and a request's window never changes.
//  - A server changes only when the measure has left a band around the present interval, so servers that bear
//    the same load, as those of a striped file do, settle on the same.
// Servers whose loads differ are idle to different degrees; those with little to do have short queues, and
// there the order matters little. A site that wants certainty takes interval() as advice and sets it
// everywhere by `tutti policy set`, which all servers adopt from the same window.
//
// What it follows: `rounds` times the time from arrival to end of a request, on average. In a window as long as one of them
// each application gets one turn with all its processes; an application that comes back within the window goes on with its
// turn, so windows of some rounds let whole bursts pass one behind the other, and let the others wait as long. The average
// comes from Little's law (queue length over time, by requests finished), so request sizes and service times both count, and
// the order that the policy chose does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace tutti {

struct TimeWindow {
  std::uint64_t number = 0;  // request time / interval
  std::uint64_t start = 0;   // in grains: orders windows of different intervals
  std::uint64_t grains = 1;  // its length
  std::uint64_t begin = 0;   // the same in ms since 1970
  std::uint64_t length = 1;
};

class WindowGrid {
 public:
  // A fixed interval, whole milliseconds. The grain is the interval: start == number.
  explicit WindowGrid(Nanos interval);
  // Adaptive. `longest` and `interval` are `shortest` times a power of two. The grain is `shortest`.
  WindowGrid(Nanos interval, Nanos shortest, Nanos longest, std::uint64_t rounds);

  // The window of a request that arrives. Times before 1970 count as 1970.
  TimeWindow place(Nanos request_time);

  // What the adaptive grid measures. `present`: requests in queue or in service since the last call.
  void elapsed(std::size_t present, Nanos now);
  void finished() { ++finished_; }

  // The interval for requests that come next.
  [[nodiscard]] Nanos interval() const;

 private:
  struct Epoch {
    std::uint64_t from = 0;  // ms since 1970
    std::uint64_t interval = 0;
  };
  void adapt(std::uint64_t time);

  bool adaptive_ = false;
  std::uint64_t rounds_;
  std::uint64_t shortest_;
  std::uint64_t longest_;
  std::vector<Epoch> epochs_;     // ascending; the last one holds
  std::uint64_t window_end_ = 0;  // of the latest window seen
  Nanos measured_until_;
  std::uint64_t presence_ = 0;  // nanoseconds times requests
  std::uint64_t finished_ = 0;
};

}  // namespace tutti
