#include "lab/sim_storage.h"
namespace tutti {
std::string_view device_name(SimDevice device) {
  switch (device) {
    case SimDevice::memory:
      return "memory";
    case SimDevice::hdd:
      return "hdd";
    case SimDevice::ssd:
      return "ssd";
  }
  return "?";
}
Result<std::unique_ptr<SimStorage>> SimStorage::create(Clock&, const SimStorageOptions& options,
                                                       Random random) {
  std::unique_ptr<SimStorage> storage(new SimStorage());
  MemoryStoreOptions memory;
  memory.capacity = options.capacity;
  memory.phantom = options.phantom;
  storage->memory_ = std::make_unique<MemoryStore>(memory, random.fork());
  return storage;
}
void SimStorage::lose_power() { memory_->crash(); }
void SimStorage::spoil(Code, double) {}
}  // namespace tutti
