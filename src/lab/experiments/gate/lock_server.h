// LockServer: the gate's lock table behind simulated messages, for the gate's experiments.
#pragma once

#include <map>

#include "env/sim/clock.h"
#include "env/sim/simulation.h"
#include "env/sync.h"
#include "policy/gate/lock_table.h"

namespace tutti::gatelab {

class LockServer {
 public:
  // A message takes `latency`. Jobs are never silent here, so leases do not end.
  LockServer(Simulation& simulation, gate::LockOptions options, Nanos latency);

  // REQ: ends when the answer is there, which may be `waiting`.
  Task<gate::Answer> ask(gate::Ask ask);
  // Ends with the ACK.
  Task<gate::Answer> wait(gate::AskName name);
  // REL.
  Task<void> release(gate::AskName name, Bytes written);
  // Whether it need not wait any longer; no message: the ACK is there or not.
  [[nodiscard]] gate::Standing test(gate::AskName name) const { return table_.answer(name).standing; }
  // The job has ended, also in the middle of something.
  void leave(std::uint64_t job);

  [[nodiscard]] const gate::LockTable& table() const { return table_; }
  // From the moment at which the server knew of an ask to its answer.
  [[nodiscard]] Nanos longest_wait() const { return longest_wait_; }
  // Grants in order.
  [[nodiscard]] const std::vector<gate::AskName>& grants() const { return grants_; }

 private:
  struct Due : Timer {
    explicit Due(LockServer& owner) : Timer(&fire), server(owner) {}
    static void fire(Timer* self);
    LockServer& server;
  };
  void after_call();
  void note(const gate::AskName& name, const gate::Answer& answer);

  SimClock clock_;
  Nanos latency_;
  gate::LockTable table_;
  std::map<gate::AskName, Event*> waiting_;
  std::map<gate::AskName, Nanos> asked_;  // of those that wait
  Nanos longest_wait_;
  std::vector<gate::AskName> grants_;
  Due due_;
};

}  // namespace tutti::gatelab
