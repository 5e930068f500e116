// Env: what a component needs of its world, besides its store. The references must outlive the component.
#pragma once

#include "base/log.h"
#include "base/random.h"
#include "env/clock.h"
#include "env/network.h"

namespace tutti {

struct Env {
  Clock& clock;
  Network& network;
  Random& random;
  Log log;
};

}  // namespace tutti
