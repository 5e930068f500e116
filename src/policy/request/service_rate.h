// ServiceRate: how many bytes a second a device was seen to read while it had something to do. Pure.
//
// A policy that bounds what is in service in bytes means a time: as long as one that comes later may have to wait. How many bytes that is
// the device decides. A rate that rises is believed by half, one that falls, and the first, at once: what was in memory says little of the device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace tutti {

class ServiceRate {
 public:
  static constexpr Bytes kSample = 256_KiB;  // until there is another figure
  static constexpr double kMost = 50e9;      // bytes a second: memory, which takes no time here

  void began(Nanos now) {
    if (in_service_++ == 0) since_ = now;
  }
  void ended(Bytes bytes, Nanos now) {
    --in_service_;
    busy_ += now - since_;
    since_ = now;
    bytes_ += bytes;
    if (bytes_ < kSample) return;
    const double seen =
        std::min(kMost, static_cast<double>(bytes_.count()) / std::max(1e-9, busy_.seconds()));
    rate_ = seen < rate_ || rate_ == 0 ? seen : (rate_ + seen) / 2;
    bytes_ = 0_B;
    busy_ = Nanos();
  }
  // What it reads in this time; nothing while that is not known.
  [[nodiscard]] Bytes in(Nanos time) const {
    return Bytes(static_cast<std::uint64_t>(rate_ * time.seconds()));
  }

 private:
  std::uint64_t in_service_ = 0;
  Nanos since_;  // of what has not been counted yet
  Nanos busy_;
  Bytes bytes_;
  double rate_ = 0;
};

}  // namespace tutti
