#include "env/sim/store/modelled_device.h"

#include <utility>

#include "env/sim/device/hdd.h"
#include "env/sim/device/scheduler.h"
#include "env/sim/device/ssd.h"

namespace tutti {

// The sheet of the 250 GB disk of the same series with two surfaces instead of three, and the capacity that the paper names.
HddParameters shared_disk() {
  HddParameters disk = default_hdd();
  disk.name = "Seagate Barracuda 7200.10 150 GB";
  disk.capacity = Bytes(150'000'000'000);
  disk.heads = 2;
  disk.reads_from_cache = true;
  return disk;
}

DeviceStoreOptions shared_disk_store() {
  constexpr double kFirstPlace = 0.73;  // of the disk
  DeviceStoreOptions store;
  store.stream = StreamKind::operation;
  store.cache.size = 1_GiB;
  store.cache.read_ahead = 128_KiB;
  store.cache.read_ahead_kind = ReadAheadKind::two_windows;
  store.cache.background_ratio = 0.10;
  store.cache.dirty_ratio = 0.40;
  const auto capacity = static_cast<double>(shared_disk().capacity.count());
  store.placement.start = Bytes(static_cast<std::uint64_t>(capacity * kFirstPlace));
  store.placement.packed = true;
  return store;
}

Result<std::unique_ptr<DeviceStore>> make_modelled_device(Clock& clock, Store& store,
                                                          const ModelledDevice& device) {
  if (device.name == "hdd-shared") {
    auto scheduler = make_io_scheduler(kSharedDiskScheduler);
    if (!scheduler.ok()) return scheduler.status();
    return std::make_unique<DeviceStore>(clock, store, std::make_unique<HddModel>(shared_disk()),
                                         *std::move(scheduler), shared_disk_store());
  }
  if (device.name == "none") return std::unique_ptr<DeviceStore>();
  std::unique_ptr<Device> model;
  if (device.name == "hdd") {
    model = std::make_unique<HddModel>(default_hdd());
  } else if (device.name == "ssd") {
    model = std::make_unique<SsdModel>(default_ssd());
  } else {
    return Status(Code::invalid,
                  "there is no modelled device " + device.name + "; there are hdd, hdd-shared and ssd");
  }
  auto scheduler = make_io_scheduler(device.scheduler);
  if (!scheduler.ok()) return scheduler.status();
  return std::make_unique<DeviceStore>(clock, store, std::move(model), *std::move(scheduler), device.store);
}

}  // namespace tutti
