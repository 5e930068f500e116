// FaultSaboteur: stops and restarts servers, cuts links, takes the power and spoils stores, as its seed says.
//
// Faults overlap. All of them are over and every server runs again some time after stop() was called.
#pragma once

#include <cstdint>
#include <set>

#include "env/scope.h"
#include "lab/faults/fault_world.h"

namespace tutti {

// Which faults a schedule has, and how often.
struct FaultPlan {
  Nanos mean_pause = 400_ms;  // between the beginnings of two faults
  Nanos longest = 4_s;        // of one fault
  bool metadata_deaths = true;
  bool data_deaths = true;
  bool power_losses = false;
  bool cuts = true;
  bool slow_links = true;
  bool store_errors = false;
  bool pauses = false;        // clients that stand still
  bool clock_jumps = false;   // of the wall clocks of data servers and clients
  bool wrong_stores = false;  // swapped, or a new one in the place of the old
};

class FaultSaboteur {
 public:
  FaultSaboteur(FaultWorld& world, const FaultPlan& plan, Random random);

  void start() { scope_.spawn(run()); }
  void stop() { stopping_ = true; }
  // After stop(): everything is whole again.
  [[nodiscard]] bool idle() const { return scope_.size() == 0; }

 private:
  class UnderWay;
  Task<void> run();
  Task<void> stop_data(std::uint32_t server, bool power, Nanos length);
  Task<void> stop_meta(bool power, Nanos length);
  Task<void> stop_coordinator(Nanos length);
  Task<void> cut(NodeId a, NodeId b, Nanos length);
  Task<void> slow(NodeId a, NodeId b, Nanos length);
  Task<void> pause(NodeId client, Nanos length);
  Task<void> jump(NodeId node, Nanos offset, Nanos length);
  Task<void> spoil(std::uint32_t server, Nanos length);
  Task<void> swap(std::uint32_t a, std::uint32_t b, Nanos length);
  Task<void> empty(std::uint32_t server, Nanos length);
  class Exchanged;
  void check_refused(std::uint32_t server);
  void begin_wrong_store(std::uint32_t server, Nanos length);
  void begin_one();
  [[nodiscard]] NodeId any_node();
  [[nodiscard]] Nanos any_length();

  FaultWorld& world_;
  FaultPlan plan_;
  Random random_;
  Clock& clock_;
  bool stopping_ = false;
  std::set<std::uint32_t> exchanged_;  // servers under which another store lies now
  Scope scope_;
};

}  // namespace tutti
