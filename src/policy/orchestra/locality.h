// Locality: how far a data server's device goes between requests, of each program and in all, and how soon a program comes
// back. Pure.
//
// The paper's SL_i, SL_ij and RD_ij (IOrchestrator, section III.B), each as a running average and as sums, of which a mean
// over any stretch of time is the difference: single samples almost never meet the conditions of eligibility, means do.
//
//   gap             from the start of one piece on the device to the start of the next
//   reuse distance  time from one piece of a program to its next, while the servers are dedicated to it; of the object of all
//                   the rest too, while it is its turn
//
// A piece is what a kernel hands to a disk at a time: a long request counts as several, each at the time when the request
// begins, so that RD is a mean over them; a list of small extents is one. Requests that are answered from memory are not seen by the device: they have neither gap nor
// reuse distance. Where nothing has an address, all count.
//
// What a jump costs is learnt from service times (JumpCost): no curve of the device is known here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/units.h"
#include "policy/orchestra/running_average.h"
#include "policy/request/policy.h"

namespace tutti {

// A stretch of the device.
struct Stretch {
  Bytes address;
  Bytes length;
};

// What the device needs longer for a request that begins far from the one before it.
class JumpCost {
 public:
  explicit JumpCost(Nanos first) : first_(first) {}
  // `bytes` took `time` of the device alone.
  void add(bool far, Bytes bytes, Nanos time);
  [[nodiscard]] Nanos value() const;

 private:
  Nanos first_;
  RunningAverage near_{kOld};  // nanoseconds per byte
  RunningAverage jump_{kOld};  // nanoseconds
  static constexpr double kOld = 31.0 / 32;
};

class Locality {
 public:
  struct Sums {
    std::uint64_t gaps = 0;
    Bytes distance;
    std::uint64_t far = 0;  // gaps that are jumps
    std::uint64_t reuses = 0;
    Nanos reuse;
  };
  struct Row {
    Sums sums;
    RunningAverage gap;    // bytes
    RunningAverage reuse;  // nanoseconds
  };

  explicit Locality(Bytes unit = 128_KiB, double weight = 1.0 / 8) : unit_(unit), weight_(weight) {}

  // A request of the program begins: so many bytes in all. `device`: what is not in memory of
  // them, if anything has addresses; `dedicated` as the policy says. Returns whether the device has to jump.
  bool begin(std::uint64_t program, std::span<const Stretch> device, bool addresses, Bytes length,
             const std::optional<Dedicated>& dedicated, Nanos now);

  [[nodiscard]] const Row& all() const { return all_.row; }
  [[nodiscard]] const Row& rest() const { return rest_.row; }
  // Null if nothing is known of it.
  [[nodiscard]] const Row* program(std::uint64_t program) const;
  // Forgets whoever `keep` says no to.
  template <typename Keep>
  void forget_unless(Keep keep) {
    std::erase_if(programs_, [&](const auto& each) { return !keep(each.first); });
  }

 private:
  struct Track {
    Row row;
    std::optional<Bytes> at;    // where its last piece began
    std::optional<Nanos> last;  // when its last request began,
    Nanos slice;                // in which slice
  };
  [[nodiscard]] std::uint64_t pieces(Bytes length) const {
    return std::max<std::uint64_t>((length + unit_ - 1_B) / unit_, 1);
  }
  // Returns whether it jumps.
  bool go(Track& track, const Stretch& stretch) const;
  static void come_back(Track& track, std::uint64_t pieces, Nanos slice, Nanos now);
  [[nodiscard]] Track blank() const;

  Bytes unit_;
  double weight_;
  Track all_ = blank(), rest_ = blank();
  std::map<std::uint64_t, Track> programs_;
};

}  // namespace tutti
