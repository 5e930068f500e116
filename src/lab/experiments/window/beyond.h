// The parts of coord-beyond. Each adds its rows and figures to the report.
#pragma once

#include "lab/experiments/experiment.h"

namespace tutti {

// Clients whose clocks are up to 5 s off; is the order of service that of true time?
Status beyond_clocks(const ExperimentOptions& options, Report& report);
// Order by id against rotated, over many windows.
Status beyond_turns(const ExperimentOptions& options, Report& report);
// Mixed sizes: smallest bottleneck first, against fair turns and the bound.
Status beyond_sizes(const ExperimentOptions& options, Report& report);
// Applications on some servers only; tags of the clients against group communication of the servers.
Status beyond_imbalance(const ExperimentOptions& options, Report& report);
// By offset within an application, against by arrival, against no order of applications at all.
Status beyond_sweeps(const ExperimentOptions& options, Report& report);

}  // namespace tutti
