// PolicyChanger: changes the request policy and gives advice while servers fail, and checks that all data servers end
// with the same policy.
#pragma once

#include <memory>

#include "base/random.h"
#include "lab/faults/fault_world.h"

namespace tutti {

class PolicyChanger {
 public:
  PolicyChanger(FaultWorld& world, Random random);

  // A few changes; ends by itself. A change may fail; one that succeeded is not lost.
  Task<void> run();
  // After the faults: every data server has its session and follows what is recorded, within a minute.
  Task<void> check();

 private:
  Task<void> change();
  void advise();
  [[nodiscard]] bool agreed(const ClusterPolicy& policy);

  FaultWorld& world_;
  Random random_;
  Clock& clock_;
  std::unique_ptr<SimClient> root_;
  std::uint64_t version_ = 0;  // the last one that a change was acknowledged with
};

}  // namespace tutti
