#include "tests/env/conformance/kv_suite.h"
#include "tests/env/conformance/store_suite.h"
#include "tests/env/sim/world.h"

#include "env/sim/memory_kv.h"
#include "env/sim/memory_store.h"

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

struct InstantKvWorld : SimWorld {
  Kv& kv() { return memory; }
  MemoryKv memory{clock};
};

struct SyncedKvWorld : SimWorld {
  Kv& kv() { return memory; }
  MemoryKv memory{clock, MemoryKvOptions{.sync_delay = 230_us}};
};

using Stores = testing::Types<MemoryStoreWorld>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sim, StoreSuite, Stores);
using Kvs = testing::Types<InstantKvWorld, SyncedKvWorld>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sim, KvSuite, Kvs);

}  // namespace tutti::conformance
