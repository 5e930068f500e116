// The figures of the device models, read from TOML. The defaults are share/devices/*.toml, built in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

struct HddParameters {
  std::string name;
  Bytes capacity;
  std::uint64_t rpm = 0;
  std::uint64_t heads = 0;
  Nanos track_to_track_seek;
  Nanos average_seek;  // of a read, over all pairs of places
  Nanos full_stroke_seek;
  Nanos write_seek_extra;
  std::uint64_t outer_rate = 0;  // bytes per second, sustained
  std::uint64_t inner_rate = 0;
  std::uint64_t zones = 0;
  std::uint64_t interface_rate = 0;
  Nanos overhead;
  Bytes read_ahead;  // into the disk's own cache while it is idle; 0: none
  // Any read of what has passed under the heads since they last jumped, or soon will, is served from that cache. Otherwise only one that
  // goes on where the last one ended is.
  bool reads_from_cache = false;
  Bytes write_cache;  // what it takes before it is on the medium; 0: none
  std::uint64_t queue_depth = 0;
};

struct SsdParameters {
  std::string name;
  Bytes capacity;
  std::uint64_t channels = 0;
  Bytes interleave;
  Nanos read_latency;
  Nanos write_latency;
  std::uint64_t channel_read_rate = 0;  // bytes per second
  std::uint64_t channel_write_rate = 0;
  std::uint64_t total_read_rate = 0;
  std::uint64_t total_write_rate = 0;
  Nanos channel_overhead;
  std::uint64_t queue_depth = 0;
};

// The built-in figures.
HddParameters default_hdd();
SsdParameters default_ssd();
// The disk of the paper on resonant I/O: share/devices/hdd-80gb.toml.
HddParameters small_hdd();
// A solid-state device of today: share/devices/nvme.toml.
SsdParameters default_nvme();
// Text of a file like share/devices/hdd.toml; keys that are missing keep the built-in value, unknown keys and
// values out of range are refused with Code::invalid and their name.
Result<HddParameters> parse_hdd(std::string_view toml);
Result<SsdParameters> parse_ssd(std::string_view toml);

}  // namespace tutti
