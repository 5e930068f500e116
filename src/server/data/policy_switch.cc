#include "server/data/policy_switch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "policy/request/window.h"

namespace tutti {
namespace {

constexpr Nanos kAskAgain = 1_s;

}  // namespace

PolicySwitch::PolicySwitch(const Env& env, Dispatcher& dispatcher, const ClusterClock& clock, bool rotational,
                           std::function<void()> ask)
    : env_(env),
      dispatcher_(dispatcher),
      clock_(clock),
      rotational_(rotational),
      ask_(std::move(ask)),
      moment_(*this) {
  active_.policy = dispatcher.policy_name();
}

Status PolicySwitch::take(const PolicyMessage& message) {
  switch (message.step) {
    case PolicyStep::prepare:
      return prepare(message.what);
    case PolicyStep::commit:
      commit(message.what);
      return {};
    case PolicyStep::withdraw:
      withdraw(message.what);
      return {};
  }
  return {Code::malformed, "unknown step"};
}

Status PolicySwitch::prepare(const PolicyVersion& what) {
  if (what.version <= active_.version) {
    return {Code::invalid,
            fmt::format("version {} of the policy is in effect here already", active_.version)};
  }
  TUTTI_TRY(make_request_policy(what.policy).status());
  // The coordinator begins a change only after the moment of the last one.
  if (pending_ && pending_->committed) activate(Pending(*pending_).what);
  wait_for({what, false});
  return {};
}

void PolicySwitch::commit(const PolicyVersion& what) {
  if (what.version > active_.version) wait_for({what, true});
}

void PolicySwitch::withdraw(const PolicyVersion& what) {
  if (pending_ && !pending_->committed && pending_->what.change == what.change) pending_.reset();
}

void PolicySwitch::wait_for(Pending pending) {
  pending_ = std::move(pending);
  env_.clock.executor().arm(moment_, std::max(clock_.steady_at(pending_->what.from), env_.clock.now()));
}

void PolicySwitch::moment_came() {
  if (!pending_) return;
  const Nanos now = env_.clock.now();
  const Nanos moment = clock_.steady_at(pending_->what.from);
  if (moment > now) {  // the clock has been corrected since
    env_.clock.executor().arm(moment_, moment);
  } else if (pending_->committed) {
    activate(Pending(*pending_).what);
  } else {
    ask_();
    env_.clock.executor().arm(moment_, now + kAskAgain);
  }
}

void PolicySwitch::heard(const wire::ClusterReply& reply) {
  const PolicyVersion what{reply.version(), reply.change(), wire::text(reply.policy()), Nanos(reply.from())};
  const Nanos now = clock_.now();
  // Neither committed nor under way any more when its moment has come: it never will be.
  if (pending_ && !pending_->committed && what.version < pending_->what.version && !reply.changing() &&
      now >= pending_->what.from) {
    pending_.reset();
  }
  if (what.version <= active_.version || what.policy.empty()) return;
  if (what.from <= now) {
    activate(what);
    return;
  }
  const std::string previous = wire::text(reply.previous());
  if (active_.version + 1 < what.version && !previous.empty()) activate({what.version - 1, 0, previous, {}});
  wait_for({what, true});
}

void PolicySwitch::activate(const PolicyVersion& what) {
  pending_.reset();
  auto policy = make_request_policy(for_device(what.policy, rotational_));
  if (!policy.ok()) {
    env_.log.error("cannot follow the cluster's request policy '{}': {}; going on with {}", what.policy,
                   policy.status().message(), dispatcher_.policy_name());
    return;
  }
  active_ = what;
  const std::string name = (*policy)->name();
  if (name == dispatcher_.policy_name()) return;
  env_.log.info("request policy {} (version {})", name, what.version);
  dispatcher_.change_policy(std::move(*policy));
}

}  // namespace tutti
