// HddModel: a rotating disk with one arm.
//
// State is the cylinder under the heads; the rotational phase follows from the time. A request takes:
// controller overhead, seek (a + b*sqrt(d) + c*d through the given track-to-track, average and
// full-stroke times), rotation to its first byte, transfer at the rate of its zone. Addresses run from the
// outer to the inner edge through zones of equal cylinder counts, whose rate falls linearly; head and track
// switches are contained in the sustained rate. A request that continues the one before, in the same
// direction, is spared seek and rotation: a read finds what the disk has read ahead meanwhile, a write joins
// what is in its cache.
#pragma once

#include <vector>

#include "env/sim/device/device.h"
#include "env/sim/device/parameters.h"

namespace tutti {

class HddModel final : public Device {
 public:
  explicit HddModel(const HddParameters& parameters = default_hdd());

  [[nodiscard]] Bytes capacity() const override { return parameters_.capacity; }
  [[nodiscard]] std::size_t queue_depth() const override;
  [[nodiscard]] std::size_t parallelism() const override { return 1; }
  [[nodiscard]] Nanos estimate(const IoDescription& request, Nanos now) const override;
  Nanos serve(const IoDescription& request, Nanos now) override;

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
  [[nodiscard]] bool continues(const IoDescription& request) const;
  [[nodiscard]] Nanos positioning(const IoDescription& request, Nanos start) const;
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
  std::uint64_t last_end_ = 0;
  Nanos media_free_;  // when the heads passed last_end_
};

}  // namespace tutti
