// The modelled devices in real time: what puts the effects of a disk in front of a store of this machine.
#pragma once

#include <memory>
#include <string>

#include "env/clock.h"
#include "env/sim/store/device_store.h"

namespace tutti {

struct ModelledDevice {
  std::string name = "hdd";            // or "ssd", or "none"
  std::string scheduler = "deadline";  // see scheduler.h
  DeviceStoreOptions store;
};

// Null for "none". Clock and store must outlive it. Code::invalid if there is no such device or scheduler.
Result<std::unique_ptr<DeviceStore>> make_modelled_device(Clock& clock, Store& store,
                                                          const ModelledDevice& device);

}  // namespace tutti
