// Where a coordinator keeps who has a turn at its gate, and who waits.
#pragma once

#include <memory>

#include "base/status.h"
#include "daemon/daemon.h"
#include "env/kv.h"

namespace tutti {

// Opens D/run/gate.NAME, without syncs. It survives the daemon, and is made anew when the machine was started since: what an
// unsynced store holds then is anything.
Result<std::unique_ptr<Kv>> open_gate_state(Daemon& daemon);

}  // namespace tutti
