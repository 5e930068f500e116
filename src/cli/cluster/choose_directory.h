// Which state directory a command means.
#pragma once

#include "base/status.h"
#include "cli/command.h"
#include "daemon/state_directory.h"

namespace tutti::cli {

// --dir, else $TUTTI_DIR, else ~/.tutti; made absolute.
Result<StateDirectory> choose_state_directory(const Globals& globals);

}  // namespace tutti::cli
