// The experiments of window coordination (paper 1, "Server-side I/O coordination for parallel file systems").
#pragma once

#include "lab/experiments/experiment.h"

namespace tutti {

Result<Report> coord_spread(const ExperimentOptions& options);   // figures 3 and 5
Result<Report> coord_apps(const ExperimentOptions& options);     // figure 6
Result<Report> coord_servers(const ExperimentOptions& options);  // figure 7
Result<Report> coord_window(const ExperimentOptions& options);   // figure 8
Result<Report> coord_model(const ExperimentOptions& options);    // section 3.2
Result<Report> coord_sync(const ExperimentOptions& options);     // figure 1
Result<Report> coord_beyond(const ExperimentOptions& options);

}  // namespace tutti
