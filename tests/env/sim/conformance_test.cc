#include "tests/env/conformance/kv_suite.h"
#include "tests/env/conformance/store_suite.h"
#include "tests/env/sim/world.h"

#include "env/fault/faulty_kv.h"
#include "env/fault/faulty_store.h"
#include "env/sim/device/hdd.h"
#include "env/sim/device/ssd.h"
#include "env/sim/kv/memory_kv.h"
#include "env/sim/store/device_store.h"
#include "env/sim/store/memory_store.h"

namespace tutti::conformance {

struct SimWorld {
  Executor& executor() { return simulation.executor(); }
  template <typename T>
  T run(Task<T> task) {
    return run_or_die(simulation, std::move(task));
  }
  Simulation simulation{7};
  SimClock clock{simulation};
};

struct MemoryStoreWorld : SimWorld {
  Store& store() { return memory; }
  MemoryStore memory;
};

template <typename Model>
struct DeviceStoreWorld : SimWorld {
  DeviceStoreWorld() : DeviceStoreWorld(DeviceStoreOptions()) {}
  explicit DeviceStoreWorld(const DeviceStoreOptions& options)
      : device(clock, memory, std::make_unique<Model>(), *make_io_scheduler("anticipatory"), options) {}
  Store& store() { return device; }
  MemoryStore memory;
  DeviceStore device;
};

// Without a page cache, and with one so small that it throttles and evicts all the time.
struct DirectStoreWorld : DeviceStoreWorld<HddModel> {
  static DeviceStoreOptions options() {
    DeviceStoreOptions options;
    options.cache.size = Bytes();
    return options;
  }
  DirectStoreWorld() : DeviceStoreWorld(options()) {}
};

struct TightStoreWorld : DeviceStoreWorld<SsdModel> {
  static DeviceStoreOptions options() {
    DeviceStoreOptions options;
    options.cache.size = 256_KiB;
    options.placement.extent = 64_KiB;
    return options;
  }
  TightStoreWorld() : DeviceStoreWorld(options()) {}
};

struct FaultyStoreWorld : SimWorld {
  Store& store() { return faulty; }
  MemoryStore memory;
  FaultyStore faulty{memory};
};

struct FaultyKvWorld : SimWorld {
  Kv& kv() { return faulty; }
  MemoryKv memory{clock};
  FaultyKv faulty{memory};
};

struct InstantKvWorld : SimWorld {
  Kv& kv() { return memory; }
  MemoryKv memory{clock};
};

struct SyncedKvWorld : SimWorld {
  Kv& kv() { return memory; }
  MemoryKv memory{clock, MemoryKvOptions{.sync_delay = 230_us}};
};

using Stores = testing::Types<MemoryStoreWorld, DeviceStoreWorld<HddModel>, DeviceStoreWorld<SsdModel>,
                              DirectStoreWorld, TightStoreWorld, FaultyStoreWorld>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sim, StoreSuite, Stores);
using Kvs = testing::Types<InstantKvWorld, SyncedKvWorld, FaultyKvWorld>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sim, KvSuite, Kvs);

}  // namespace tutti::conformance
