// NicModel: what one simulated network card costs. Pure figures; the fabric is in network.h.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace tutti {

// A message occupies the sender's transmit side and the receiver's receive side for per_message +
// bytes/bandwidth each (cut-through: the two overlap), and is `latency` plus 0 to `jitter` on its way. The
// latency of a path is the mean of its two ends'; the jitter is the sender's.
struct NicModel {
  std::uint64_t bandwidth = 117'687'000;  // bytes per second and direction, for payload
  Nanos latency = 30_us;                  // one way, wire, switch and protocol stack
  Nanos jitter = 10_us;                   // uniform
  Nanos per_message = 2_us;               // at each end
  Bytes chunk = 64_KiB;                   // unit in which bulk transfers share the card

  // Gigabit Ethernet with TCP: 1 Gb/s times 1448/1538, the payload share of a full frame with headers,
  // preamble and gap (IEEE 802.3, RFC 1323 timestamps).
  // Latency, jitter and cost per message are assumed.
  static constexpr NicModel gigabit_ethernet() { return {}; }
  // InfiniBand 4x SDR and DDR: 4 lanes of 2.5 or 5 Gb/s, of which 8b/10b coding leaves 1 or 2 GB/s
  // (InfiniBand Architecture Specification, volume 2). Less 3 % for headers,
  // and latencies as of host adapters of that time: both assumed.
  static constexpr NicModel infiniband_4x_sdr() { return {970'000'000, 4_us, 500_ns, 500_ns, 64_KiB}; }
  static constexpr NicModel infiniband_4x_ddr() { return {1'940'000'000, 3_us, 500_ns, 300_ns, 64_KiB}; }
  // 100 Gb/s Ethernet of today: the payload share of a jumbo frame, 8948/9038 (IEEE 802.3). Latency, jitter and cost per
  // message are assumed, as of adapters with RDMA.
  static constexpr NicModel hundred_gigabit() { return {12'375'000'000, 1500_ns, 200_ns, 100_ns, 256_KiB}; }
};

}  // namespace tutti
