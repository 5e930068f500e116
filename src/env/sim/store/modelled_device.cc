#include "env/sim/store/modelled_device.h"

#include <utility>

#include "env/sim/device/hdd.h"
#include "env/sim/device/parameters.h"
#include "env/sim/device/scheduler.h"
#include "env/sim/device/ssd.h"

namespace tutti {

Result<std::unique_ptr<DeviceStore>> make_modelled_device(Clock& clock, Store& store,
                                                          const ModelledDevice& device) {
  if (device.name == "none") return std::unique_ptr<DeviceStore>();
  std::unique_ptr<Device> model;
  if (device.name == "hdd") {
    model = std::make_unique<HddModel>(default_hdd());
  } else if (device.name == "ssd") {
    model = std::make_unique<SsdModel>(default_ssd());
  } else {
    return Status(Code::invalid, "there is no modelled device " + device.name + "; there are hdd and ssd");
  }
  auto scheduler = make_io_scheduler(device.scheduler);
  if (!scheduler.ok()) return scheduler.status();
  return std::make_unique<DeviceStore>(clock, store, std::move(model), *std::move(scheduler), device.store);
}

}  // namespace tutti
