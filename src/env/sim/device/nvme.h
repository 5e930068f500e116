// The figures of a solid-state device of today: share/devices/nvme.toml, built in.
#pragma once

#include "env/sim/device/parameters.h"

namespace tutti {

SsdParameters default_nvme();

}  // namespace tutti
