// Backlog: how busy a data server is, as it tells its clients with every reply. Pure.
//
// What has come and is not answered waits or is under way; how fast the server works is what it answered over the time in
// which it had something to do, the recent past counting more. Both together say how long the backlog lasts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"

namespace tutti {

class Backlog {
 public:
  void arrived(Bytes bytes, Nanos now) {
    if (requests_++ == 0) since_ = now;
    bytes_ += bytes;
  }
  // Answered; `moved`: it counts for the pace, as one that was dropped or failed does not.
  void left(Bytes bytes, bool moved, Nanos now) {
    busy_ += (now - since_).count();
    since_ = now;
    --requests_;
    bytes_ -= bytes;
    if (moved) done_ += static_cast<std::int64_t>(bytes.count());
    if (busy_ < kMemory.count()) return;
    busy_ /= 2;
    done_ /= 2;
  }

  // Nanoseconds for 1 KiB; 0 while nothing is known.
  [[nodiscard]] std::uint64_t pace() const {
    if (done_ < 1024) return 0;
    return static_cast<std::uint64_t>(std::min<std::int64_t>(busy_ / (done_ / 1024), INT32_MAX));
  }
  // Until what is here now is served.
  [[nodiscard]] Nanos wait() const {
    constexpr std::uint64_t kMost = 3600ULL * 1'000'000'000ULL;
    return Nanos(static_cast<std::int64_t>(std::min(bytes_.count() / 1024 * pace(), kMost)));
  }
  [[nodiscard]] std::uint64_t requests() const { return requests_; }

 private:
  // The past before so much busy time counts half.
  static constexpr Nanos kMemory = 200_ms;

  std::uint64_t requests_ = 0;
  Bytes bytes_;
  Nanos since_;  // up to then busy time is counted; meaningful while there are requests
  std::int64_t busy_ = 0;
  std::int64_t done_ = 0;
};

}  // namespace tutti
