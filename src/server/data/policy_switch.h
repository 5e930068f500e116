// PolicySwitch: a data server's part in changes of the request policy (policy_change.h).
//
// What it has prepared takes effect at its moment, if it was committed by then; if not, the switch asks what became of
// it. The policy itself changes in the dispatcher, which moves the queue over.
#pragma once

#include <functional>
#include <optional>

#include "env/cluster_clock.h"
#include "env/env.h"
#include "server/coordinator/policy_change.h"
#include "server/data/dispatcher.h"

namespace tutti {

class PolicySwitch {
 public:
  // `rotational`: the store is on such a disk, which decides the interval of a window policy that names none. `ask`
  // shall bring the coordinator's word to heard(). All references must outlive the switch.
  PolicySwitch(const Env& env, Dispatcher& dispatcher, const ClusterClock& clock, bool rotational,
               std::function<void()> ask);
  PolicySwitch(const PolicySwitch&) = delete;
  PolicySwitch& operator=(const PolicySwitch&) = delete;

  // A step of the coordinator. Only prepare can fail: Code::invalid if this server cannot follow.
  Status take(const PolicyMessage& message);
  // What the coordinator says holds.
  void heard(const wire::ClusterReply& reply);

  // In effect here.
  [[nodiscard]] const PolicyVersion& active() const { return active_; }
  // Something is prepared or about to take effect.
  [[nodiscard]] bool pending() const { return pending_.has_value(); }

 private:
  struct Pending {
    PolicyVersion what;
    bool committed = false;
  };
  struct Moment : Timer {
    explicit Moment(PolicySwitch& owner)
        : Timer([](Timer* self) { static_cast<Moment*>(self)->owner.moment_came(); }), owner(owner) {}
    PolicySwitch& owner;
  };

  Status prepare(const PolicyVersion& what);
  void commit(const PolicyVersion& what);
  void withdraw(const PolicyVersion& what);
  void wait_for(Pending pending);
  void moment_came();
  void activate(const PolicyVersion& what);

  const Env& env_;
  Dispatcher& dispatcher_;
  const ClusterClock& clock_;
  bool rotational_;
  std::function<void()> ask_;
  PolicyVersion active_;
  std::optional<Pending> pending_;
  Moment moment_;
};

}  // namespace tutti
