// What a scenario gave, for people and for scripts. Nothing of the real world is in it: the same scenario and
// seed give the same bytes.
#pragma once

#include <string>

#include "lab/scenario/scenario.h"

namespace tutti {

// A table of the applications, one of the servers, and the seed.
std::string to_text(const Scenario& scenario, const ScenarioResult& result);
// `rows` (one for each application), `servers`, `measured` (named figures) and what was run. Times in
// seconds.
std::string to_json(const Scenario& scenario, const ScenarioResult& result);

}  // namespace tutti
