#include "server/coordinator/guide.h"

#include <set>

#include "policy/request/automatic.h"

namespace tutti {

Guide::Guide(Env env, Members& members, const PolicyKeeper& policy)
    : env_(env), members_(members), policy_(policy), scope_(env.clock.executor()) {}

Task<void> Guide::run() {
  for (;;) {
    members_.reported().reset();
    co_await members_.reported().wait();
    look();
    co_await env_.clock.sleep(kPeriod);
  }
}

bool Guide::wanted() const {
  const Result<PolicyRecord> record = policy_.read();
  return record.ok() && record->now.policy.starts_with("auto");
}

void Guide::look() {
  if (!wanted()) {
    chooser_.reset();
    return;
  }
  if (!chooser_) {
    chooser_.emplace(automatic_choices(members_.any_rotational()).size());
    plan_.clear();
  }
  // Totals of those who come or go are no difference of two samples.
  if (members_.connected() != connected_) chooser_->interrupt();
  connected_ = members_.connected();
  const Nanos now = env_.clock.now();
  const std::size_t before = chooser_->choice();
  if (auto plan = chooser_->take(sample(), now)) {
    plan_ = *std::move(plan);
    if (chooser_->choice() != before) {
      env_.log.info("auto: {} serves better than {}",
                    automatic_choices(members_.any_rotational())[chooser_->choice()],
                    automatic_choices(members_.any_rotational())[before]);
    }
    tell(now);
  } else if (chooser_->choice() != 0 && now - told_ > kValidity / 3) {
    tell(now);
  }
}

Chooser::Sample Guide::sample() const {
  Chooser::Sample sample;
  std::set<std::uint64_t> waiting;
  bool others = false;
  for (std::uint32_t index = 0; index < members_.size(); ++index) {
    const Member* member = members_.member(index);
    if (member == nullptr) continue;
    for (const Use& use : member->report().applications) {
      sample.requests += use.requests;
      sample.bytes += use.bytes;
      sample.present += std::uint64_t{use.queued} + use.in_service;
      if (use.queued + use.in_service == 0) continue;
      if (use.others) {
        others = true;
      } else {
        waiting.insert(use.application);
      }
    }
  }
  sample.applications = static_cast<std::uint32_t>(waiting.size()) + (others ? 1 : 0);
  return sample;
}

void Guide::tell(Nanos now) {
  Advice advice;
  const Nanos wall = env_.clock.wall();
  advice.expiry = wall + kValidity;
  for (const PlanStep& step : plan_) advice.plan.push_back({wall + (step.from - now), step.choice});
  members_.advise(std::move(advice));
  told_ = now;
}

}  // namespace tutti
