// tutti lab figures: the figures that documents quote.
#pragma once

#include "cli/command.h"

namespace tutti::cli {

void add_lab_figures(Command& lab);

}  // namespace tutti::cli
