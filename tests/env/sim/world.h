// What the tests of the simulated world share.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "env/sim/clock.h"
#include "env/sim/simulation.h"

namespace tutti {

// Drives a task to its end; a deadlock ends the test program, since there is no value to go on with.
template <typename T>
T run_or_die(Simulation& simulation, Task<T> task) {
  std::optional<T> result = simulation.run(std::move(task));
  if (!result) {
    ADD_FAILURE() << "deadlock: the simulation ran dry before the task ended";
    std::abort();
  }
  return std::move(*result);
}

}  // namespace tutti
