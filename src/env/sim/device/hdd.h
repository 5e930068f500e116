// HddModel: a rotating disk with one arm.
//
// State is the cylinder under the heads; the rotational phase follows from the time. A request takes:
// controller overhead, seek (a + b*sqrt(d) + c*d through the given track-to-track, average and
// full-stroke times), rotation to its first byte, transfer at the rate of its zone. Addresses run from the
// outer to the inner edge through zones of equal cylinder counts, whose rate falls linearly; head and track
// switches are contained in the sustained rate. A read that continues the one before is spared seek and rotation: it finds
// what the disk has read ahead meanwhile. With reads_from_cache so does a read of what has passed under the heads since they last
// jumped, or soon will: requests of one neighbourhood that come in a wrong order cost no turn of the platter.
//
// A write is done when it is in the disk's cache, wherever it goes. The cache is bounded; it drains while nothing else is to
// be done, and when a write finds no room, always to the place that the heads reach first. A write that is to go through, and
// a flush, wait for the medium. A write through that continues the one before is spared seek and rotation only if it was
// there when that one ended: otherwise its sector has passed.
#pragma once

#include <vector>

#include "env/sim/device/device.h"
#include "env/sim/device/parameters.h"
#include "env/sim/device/write_cache.h"

namespace tutti {

class HddModel final : public Device {
 public:
  explicit HddModel(const HddParameters& parameters = default_hdd());

  [[nodiscard]] Bytes capacity() const override { return parameters_.capacity; }
  [[nodiscard]] std::size_t queue_depth() const override;
  [[nodiscard]] std::size_t parallelism() const override { return 1; }
  [[nodiscard]] Nanos estimate(const IoDescription& request, Nanos now) const override;
  Nanos serve(const IoDescription& request, Nanos now) override;
  [[nodiscard]] Motion motion() const override { return motion_; }

  // For tests and tools.
  [[nodiscard]] Nanos seek_time(std::uint64_t distance, bool write) const;
  [[nodiscard]] std::uint64_t cylinders() const { return cylinders_; }
  [[nodiscard]] std::uint64_t cylinder_of(Bytes address) const;
  [[nodiscard]] std::uint64_t rate_at(Bytes address) const;

 private:
  struct Zone {
    std::uint64_t first_byte = 0;
    std::uint64_t first_cylinder = 0;
    std::uint64_t rate = 0;
    std::uint64_t track_bytes = 0;
    std::uint64_t cylinder_bytes = 0;
  };
  [[nodiscard]] const Zone& zone_of(std::uint64_t address) const;
  // A read or a write on the medium.
  struct Access {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    bool write = false;
  };
  [[nodiscard]] bool continues(std::uint64_t address, bool write) const;
  [[nodiscard]] Nanos positioning(std::uint64_t address, bool write, Nanos start) const;
  [[nodiscard]] bool cached(const IoDescription& request) const {
    return request.write && !request.through && cache_.takes(request.length.count());
  }
  // The heads begin to go there at `start`; returns when they have passed the last byte.
  Nanos access(const Access& access, Nanos start);
  Nanos read_on(const Access& access, Nanos now);
  // Whether a read begins in the disk's cache, or so little ahead of it that the heads just go on.
  [[nodiscard]] bool in_cache(const Access& access, Nanos now) const;
  // Writes the next stretch of the cache.
  void drain_one();
  // What the disk did by itself until `now`. It may be in the middle of something.
  void drain_until(Nanos now);
  [[nodiscard]] std::uint64_t wrap(Bytes address) const {
    return address.count() % parameters_.capacity.count();
  }

  HddParameters parameters_;
  std::int64_t rotation_;  // nanoseconds of one
  std::vector<Zone> zones_;
  std::uint64_t cylinders_ = 0;
  double seek_root_ = 0;    // factor of sqrt(distance / cylinders)
  double seek_linear_ = 0;  // factor of distance / cylinders
  std::uint64_t cylinder_ = 0;
  bool moved_ = false;  // something was served already
  bool last_write_ = false;
  std::uint64_t run_begin_ = 0;  // since then the heads have gone on without a jump
  std::uint64_t last_end_ = 0;
  Nanos passed_;      // when the heads passed last_end_
  Nanos media_free_;  // when they can begin with something else: that, or later if there was nothing to do
  WriteCache cache_;
  Motion motion_;
};

}  // namespace tutti
