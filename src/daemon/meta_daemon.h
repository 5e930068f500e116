// The metadata server as a daemon.
#pragma once

#include "daemon/daemon.h"

namespace tutti {

Status serve_meta(Daemon& daemon);

}  // namespace tutti
