#include "env/real/network/frame.h"

#include <fmt/format.h>

namespace tutti {

Status check_header(const FrameHeader& header, std::size_t limit) {
  if (header.magic != kFrameMagic) {
    return {Code::malformed,
            fmt::format("frame starts with {:#010x}: the peer does not speak this protocol", header.magic)};
  }
  if (header.version != kFrameVersion) {
    return {Code::version,
            fmt::format("frame of protocol version {}, this side speaks version {}: use the same release "
                        "of Tutti on both sides",
                        header.version, kFrameVersion)};
  }
  if (header.flags != 0) {
    return {Code::malformed, "frame header with unknown flags"};
  }
  if (header.length > limit) {
    return {Code::malformed,
            fmt::format("frame of {} bytes, at most {} are allowed here", header.length, limit)};
  }
  return {};
}

}  // namespace tutti
