// tutti status --apps: who used the data servers, and who waited for whom.
#pragma once

#include "cli/command.h"

namespace tutti::cli {

int run_status_apps(const Globals& globals, bool json);

}  // namespace tutti::cli
