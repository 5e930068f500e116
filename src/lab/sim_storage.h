// SimStorage: what lies under one simulated data server, from the bytes up: memory, a device model with its
// page cache, injected faults. It belongs to the node and outlives the server process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/status.h"
#include "env/clock.h"
#include "env/sim/memory_store.h"
#include "env/store.h"

namespace tutti {

enum class SimDevice : std::uint8_t { memory, hdd, ssd };
std::string_view device_name(SimDevice device);
Result<SimDevice> parse_device(std::string_view name);

struct SimStorageOptions {
  SimDevice device = SimDevice::memory;
  bool phantom = false;  // lengths and times as ever, but no bytes
  Bytes capacity = Bytes(std::uint64_t{1} << 40U);
};

class SimStorage {
 public:
  static Result<std::unique_ptr<SimStorage>> create(Clock& clock, const SimStorageOptions& options,
                                                    Random random);
  SimStorage(const SimStorage&) = delete;
  SimStorage& operator=(const SimStorage&) = delete;
  ~SimStorage() = default;

  // What the data server uses.
  [[nodiscard]] Store& store() { return *memory_; }
  // Loses what was not synced. No operation may be under way.
  void lose_power();
  // From now on operations fail with this code and this probability; Code::ok ends it.
  void spoil(Code code, double probability);

 private:
  SimStorage() = default;
  std::unique_ptr<MemoryStore> memory_;
};

}  // namespace tutti
