// Servers of today: NVMe drives (share/devices/nvme.toml) and 100 Gb/s Ethernet.
#pragma once

#include "lab/experiments/target/nodes.h"

namespace tutti {

TargetPoint today_point();

}  // namespace tutti
