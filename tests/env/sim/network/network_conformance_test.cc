#include "tests/env/conformance/network_suite.h"

#include "env/sim/network/network.h"
#include "tests/env/sim/world.h"

namespace tutti::conformance {

struct SimNetworkWorld {
  SimNetworkWorld() {
    fabric.add_node();
    fabric.add_node();
  }
  Clock& clock() { return sim_clock; }
  Network& server_network() { return fabric.node(0); }
  Network& client_network() { return fabric.node(1); }
  std::string address() { return "sim:0/server"; }
  std::string silent_address() { return "sim:0/nobody"; }
  template <typename T>
  T run(Task<T> task) {
    return run_or_die(simulation, std::move(task));
  }
  Simulation simulation{5};
  SimClock sim_clock{simulation};
  SimNetwork fabric{simulation, FabricOptions(), simulation.random().fork()};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sim, NetworkSuite, testing::Types<SimNetworkWorld>);

}  // namespace tutti::conformance
