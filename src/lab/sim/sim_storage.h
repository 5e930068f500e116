// SimStorage: what lies under one simulated data server, from the bytes up: memory, a device model with its
// page cache, injected faults, a meter. It belongs to the node and outlives the server process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/config.h"
#include "base/random.h"
#include "base/status.h"
#include "env/clock.h"
#include "env/fault/faulty_store.h"
#include "env/sim/device/parameters.h"
#include "env/sim/store/device_store.h"
#include "env/sim/store/memory_store.h"
#include "env/store.h"
#include "lab/sim/cpu_store.h"
#include "lab/sim/meter_store.h"

namespace tutti {

enum class SimDevice : std::uint8_t { memory, hdd, ssd };
std::string_view device_name(SimDevice device);

struct SimStorageOptions {
  SimDevice device = SimDevice::memory;  // memory takes no time
  StoreIdentity identity;
  bool phantom = false;  // lengths and times as ever, but no bytes
  Bytes capacity = Bytes(std::uint64_t{1} << 40U);
  // Of a device that takes time.
  std::string scheduler = "deadline";
  DeviceStoreOptions store;
  HddParameters hdd = default_hdd();
  SsdParameters ssd = default_ssd();
  CpuModel cpu;  // of the node; costs nothing by default
  // No layer for faults and figures; spoil() and meter() are without effect then.
  bool bare = false;
};

// "hdd, scheduler deadline, page cache 1 GiB": what results record.
std::string describe(const SimStorageOptions& options);
// Asks a cluster's table for all keys of the options.
void read_storage(ConfigReader& reader, SimStorageOptions& options);

class SimStorage {
 public:
  static Result<std::unique_ptr<SimStorage>> create(Clock& clock, const SimStorageOptions& options,
                                                    Random random);
  SimStorage(const SimStorage&) = delete;
  SimStorage& operator=(const SimStorage&) = delete;
  ~SimStorage() = default;

  // What the data server uses.
  [[nodiscard]] Store& store() { return *top_; }
  [[nodiscard]] const MeterStore& meter() const { return *meter_; }
  // Null for memory.
  [[nodiscard]] DeviceStore* device() { return device_.get(); }
  // Loses what was not synced. No operation may be under way.
  void lose_power();
  // From now on the store fails in this way; a default-constructed value ends it.
  void spoil(const StoreFaults& faults) { faulty_->set_faults(faults); }
  // Called when a sync has failed and what was not synced of the object is lost.
  void on_failed_sync(std::function<void(ObjectId)> heard) { failed_sync_ = std::move(heard); }
  // Makes an object of this length without taking time; not in the page cache. It gets its places on the device now, all of them, as
  // files do when they are written: places by the order of the first reads would lay the disk out for that order.
  Task<Status> prepare(ObjectId object, Bytes length);
  // Only that: for a file that is going to be written to this length.
  void place(ObjectId object, Bytes length);
  // Meters and busy() count from now, with nothing in the page cache but what is dirty.
  void begin_measurement();
  // How long the device was busy; 0 for memory.
  [[nodiscard]] Nanos busy() const;
  // How often its heads went somewhere else; 0 for anything but a disk.
  [[nodiscard]] std::uint64_t jumps() const;

 private:
  SimStorage() = default;
  std::unique_ptr<MemoryStore> memory_;
  std::unique_ptr<DeviceStore> device_;
  std::unique_ptr<FaultyStore> faulty_;
  std::unique_ptr<CpuStore> cpu_;
  std::unique_ptr<MeterStore> meter_;
  std::function<void(ObjectId)> failed_sync_;
  Store* top_ = nullptr;
  Nanos busy_before_;
  std::uint64_t jumps_before_ = 0;
};

}  // namespace tutti
