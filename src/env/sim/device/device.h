// Device: the timing of a storage device. Pure: it is told the time and says when a request will be done; it
// neither waits nor stores bytes. hdd.h and ssd.h are the models; queue.h puts one on a Clock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace tutti {

// What the device is asked to do. `address` is a byte on the device.
struct IoDescription {
  bool write = false;
  bool through = false;      // a write: done when it is on the medium, not when it is in the device's cache
  bool flush = false;        // no transfer: done when all that is in the device's cache is on the medium
  bool background = false;   // nobody waits for it: write-back, read-ahead
  std::uint64_t stream = 0;  // requests that belong together, for schedulers that keep them so
  Bytes address;
  Bytes length;
};

// How the device moved, for reports.
struct Motion {
  std::uint64_t jumps = 0;  // times that it did not go on where it was
  Bytes distance;           // how far, in all
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual Bytes capacity() const = 0;
  // How many requests the device accepts before it has answered the first.
  [[nodiscard]] virtual std::size_t queue_depth() const = 0;
  // How many of them it works on at once. Of the others it takes next the one with the least estimate().
  [[nodiscard]] virtual std::size_t parallelism() const = 0;
  // Time to get to the request's first byte if it were begun at `now`.
  [[nodiscard]] virtual Nanos estimate(const IoDescription& request, Nanos now) const = 0;
  // Begins the request at `now`, which never goes back; returns when it will be done.
  virtual Nanos serve(const IoDescription& request, Nanos now) = 0;
  [[nodiscard]] virtual Motion motion() const { return {}; }
};

}  // namespace tutti
