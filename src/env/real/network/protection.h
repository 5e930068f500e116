// What happens to the frames of a TCP connection after its handshake.
#pragma once

#include <cstdint>

namespace tutti {

// Values travel on the wire.
enum class Protection : std::uint32_t {
  none = 0,          // the network between the hosts must be one that nobody alters
  authenticate = 1,  // every frame has a tag (frame_guard.h)
};

}  // namespace tutti
