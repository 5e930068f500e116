#include "env/sim/device/ssd.h"

#include <algorithm>

namespace tutti {

SsdModel::SsdModel(const SsdParameters& parameters)
    : parameters_(parameters), channel_free_(parameters.channels), share_(parameters.channels) {}

std::size_t SsdModel::queue_depth() const { return static_cast<std::size_t>(parameters_.queue_depth); }

Nanos SsdModel::estimate(const IoDescription& request, Nanos now) const {
  const std::uint64_t unit = request.address.count() / parameters_.interleave.count();
  return std::max(channel_free_[static_cast<std::size_t>(unit % channel_free_.size())] - now, Nanos());
}

Nanos SsdModel::serve(const IoDescription& request, Nanos now) {
  const auto nanos = [](std::uint64_t bytes, std::uint64_t rate) {
    return Nanos(static_cast<std::int64_t>(bytes * 1'000'000'000U / rate));
  };
  // Power fails safe in such cards: a write is done when its channels are.
  if (request.flush) return now;
  const std::uint64_t unit = parameters_.interleave.count();
  const std::uint64_t rate = request.write ? parameters_.channel_write_rate : parameters_.channel_read_rate;
  const std::uint64_t total_rate = request.write ? parameters_.total_write_rate : parameters_.total_read_rate;
  std::fill(share_.begin(), share_.end(), 0);
  std::uint64_t at = request.address.count();
  const std::uint64_t end = at + std::max<std::uint64_t>(request.length.count(), 1);
  while (at < end) {
    const std::uint64_t step = std::min(end - at, unit - at % unit);
    share_[static_cast<std::size_t>(at / unit % share_.size())] += step;
    at += step;
  }
  Nanos last = now;
  for (std::size_t i = 0; i < share_.size(); ++i) {
    if (share_[i] == 0) continue;
    channel_free_[i] =
        std::max(channel_free_[i], now) + parameters_.channel_overhead + nanos(share_[i], rate);
    last = std::max(last, channel_free_[i]);
  }
  link_free_ = std::max(link_free_, now) + nanos(request.length.count(), total_rate);
  return std::max(last, link_free_) + (request.write ? parameters_.write_latency : parameters_.read_latency);
}

}  // namespace tutti
