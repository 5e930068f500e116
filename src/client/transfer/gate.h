// Gate: the second step of a transfer. Whether it may begin, or waits for others.
//
// Every transfer with bytes passes the gate of its client before anything of it is sent. Request times count from
// there: what was held back does not rank before those that were let through meanwhile. Without a gate (the default)
// nothing waits and nothing is asked.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "base/units.h"
#include "env/task.h"

namespace tutti {

// What a gate knows of a transfer.
struct TransferFacts {
  std::uint64_t file = 0;
  std::uint64_t application = 0;
  std::uint64_t client = 0;
  bool write = false;
  Bytes length;
  Bytes bottleneck;  // of its most loaded server
};

class TransferGate {
 public:
  TransferGate() = default;
  TransferGate(const TransferGate&) = delete;
  TransferGate& operator=(const TransferGate&) = delete;
  virtual ~TransferGate() = default;

  // Ends when the transfer may begin; an error fails it. Every wait in it has a bound.
  virtual Task<Status> enter(const TransferFacts& facts) = 0;
  // The fencing number of the turn in which a data server is written to now; 0: in none. Asked for each message.
  [[nodiscard]] virtual std::uint64_t turn(std::uint32_t /*server*/) const { return 0; }
  // A transfer that entered has ended, or was given up.
  virtual void leave(const TransferFacts& facts) = 0;
};

// The passage of one transfer: leaves when it is destroyed, if it has entered.
class GatePassage {
 public:
  GatePassage(TransferGate& gate, const TransferFacts& facts) : gate_(gate), facts_(facts) {}
  GatePassage(const GatePassage&) = delete;
  GatePassage& operator=(const GatePassage&) = delete;
  ~GatePassage() {
    if (entered_) gate_.leave(facts_);
  }
  Task<Status> enter();

 private:
  TransferGate& gate_;
  TransferFacts facts_;
  bool entered_ = false;
};

}  // namespace tutti
