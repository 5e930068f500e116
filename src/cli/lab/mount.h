// tutti lab mount: a directory on a modelled device in real time.
#pragma once

#include "cli/command.h"

namespace tutti::cli {

void add_lab_mount(Command& lab);

}  // namespace tutti::cli
