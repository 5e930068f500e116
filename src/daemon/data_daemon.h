// A data server as a daemon.
#pragma once

#include <cstdint>

#include "daemon/daemon.h"

namespace tutti {

// `index` is its number in the cluster; Code::invalid if there is no such server.
Status serve_data(Daemon& daemon, std::uint32_t index);

}  // namespace tutti
