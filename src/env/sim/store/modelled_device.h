// The modelled devices in real time: what puts the effects of a disk in front of a store of this machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "env/clock.h"
#include "env/sim/device/parameters.h"
#include "env/sim/store/device_store.h"

namespace tutti {

struct ModelledDevice {
  std::string name = "hdd";            // or "hdd-shared", "ssd", "none"
  std::string scheduler = "deadline";  // see scheduler.h
  DeviceStoreOptions store;
};

// The disk and the kernel of the testbed of paper 3 (lab/experiments/orchestra/testbed.h): a Barracuda 7200.10 of 150 GB under CFQ, which
// takes every operation for a stream; files at full length on its inner tracks, one behind the other; Linux 2.6.21 with 1 GiB of page cache.
HddParameters shared_disk();
inline constexpr std::string_view kSharedDiskScheduler = "anticipatory";
DeviceStoreOptions shared_disk_store();

// Null for "none". "hdd-shared" is that testbed's disk, whatever `scheduler` and `store` say. Clock and store must outlive it. Code::invalid if there is no such device or scheduler.
Result<std::unique_ptr<DeviceStore>> make_modelled_device(Clock& clock, Store& store,
                                                          const ModelledDevice& device);

}  // namespace tutti
