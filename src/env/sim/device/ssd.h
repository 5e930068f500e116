// SsdModel: a solid-state device of several channels over which addresses are interleaved.
//
// A request occupies each channel it touches for an overhead plus its bytes at the channel's rate; it is done
// a latency after the last channel, and not before the device's total rate allows.
#pragma once

#include <vector>

#include "env/sim/device/device.h"
#include "env/sim/device/parameters.h"

namespace tutti {

class SsdModel final : public Device {
 public:
  explicit SsdModel(const SsdParameters& parameters = default_ssd());

  [[nodiscard]] Bytes capacity() const override { return parameters_.capacity; }
  [[nodiscard]] std::size_t queue_depth() const override;
  [[nodiscard]] std::size_t parallelism() const override { return queue_depth(); }
  [[nodiscard]] Nanos estimate(const IoDescription& request, Nanos now) const override;
  Nanos serve(const IoDescription& request, Nanos now) override;

 private:
  SsdParameters parameters_;
  std::vector<Nanos> channel_free_;
  std::vector<std::uint64_t> share_;  // bytes of the request at hand on each channel
  Nanos link_free_;
};

}  // namespace tutti
