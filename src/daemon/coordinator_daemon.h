// The coordinator as a daemon of its own, where the cluster file names one.
#pragma once

#include "daemon/daemon.h"

namespace tutti {

// Code::invalid if the cluster file has no `coordinator`: the metadata server is it then.
Status serve_coordinator(Daemon& daemon);

}  // namespace tutti
