// Parking: what is kept of clients that make no progress, so that nobody waits for them.
//
// A turn is held only while bytes move. When those of a write do not come for kStall, or come from a client that was too
// slow a short time ago, the transfer is parked: it gives its turn back, leaves the policy, and its next kPiece bytes are
// pulled into memory; with them it stands in line again. Where there is no memory for them, because others that were stopped have
// it, it stands in line without them when its client is no longer taken for slow. A read gives its turn back anyway; what its client does not take
// for DispatcherLimits::send_stall is copied, and sent when it does, and the client's other reads are parked until then. A
// parked client has the time of DispatcherLimits::transfer_limit; then it loses the connection.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/units.h"

namespace tutti {

// How a client keeps up; a part of its session.
struct Pace {
  bool pulling = false;    // bytes of a parked write are on their way, or wait for its turn
  std::size_t late = 0;    // parked writes whose early pull is not over
  std::size_t unread = 0;  // copies of what it has not taken
  Nanos slow_until;
  Nanos slow_for;

  [[nodiscard]] bool slow(Nanos now) const { return pulling || late > 0 || now < slow_until; }
  // Whoever stalls again and again is trusted with a turn ever more rarely.
  void stalled(Nanos now) {
    slow_for = std::clamp(slow_for * 2, kShortest, kLongest);
    slow_until = now + slow_for;
  }

  static constexpr Nanos kShortest = 100_ms;
  static constexpr Nanos kLongest = 10_s;
};

// How much is held for parked clients, in all. Copies of what readers do not take leave room for writes.
class ParkedBytes {
 public:
  static constexpr Bytes kPiece = 256_KiB;  // of a write, pulled for one turn
  static constexpr Bytes kMost = 64_MiB;
  static constexpr Bytes kMostByReads = 48_MiB;

  [[nodiscard]] bool room_for_read(Bytes length) const { return held_ + length <= kMostByReads; }
  [[nodiscard]] bool room_for_write(Bytes length) const { return held_ + length <= kMost; }
  void add(Bytes length) { held_ += length; }
  void release(Bytes length) { held_ -= length; }
  [[nodiscard]] Bytes held() const { return held_; }

 private:
  Bytes held_;
};

}  // namespace tutti
