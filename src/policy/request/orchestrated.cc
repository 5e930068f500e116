#include "policy/request/orchestrated.h"

#include <algorithm>

#include "policy/request/registry.h"
#include "policy/request/sliced.h"
#include "policy/request/window_options.h"

namespace tutti {
namespace {

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  const auto options = read_orchestra_options(parameters);
  if (!options.ok()) return options.status();
  if (!options->window_for_rest())
    return std::unique_ptr<RequestPolicy>(std::make_unique<SlicedPolicy>(*options));
  auto window = make_request_policy(for_device("window", options->rotational));
  if (!window.ok()) return window.status();
  return std::unique_ptr<RequestPolicy>(std::make_unique<OrchestratedPolicy>(*options, *std::move(window)));
}

std::vector<std::unique_ptr<RequestPolicy>> both(std::unique_ptr<RequestPolicy> rest,
                                                 const OrchestraOptions& options) {
  std::vector<std::unique_ptr<RequestPolicy>> choices;
  choices.push_back(std::move(rest));
  choices.push_back(std::make_unique<SlicedPolicy>(options));
  return choices;
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::orchestrated = {kOrchestrated,
                                                                              kOrchestraParameters, make};

OrchestratedPolicy::OrchestratedPolicy(const OrchestraOptions& options, std::unique_ptr<RequestPolicy> rest)
    : SwitchingPolicy(both(std::move(rest), options)), options_(options) {}

void OrchestratedPolicy::advise(const Advice& advice, Nanos now) {
  choice_at(kSliced).advise(advice, now);
  from_ = Nanos::max();
  to_ = Nanos();
  for (const TimeSlice& slice : advice.slices) {
    from_ = std::min(from_, slice.from);
    to_ = std::max(to_, std::min(slice.to, advice.expiry));
  }
}

std::optional<Dedicated> OrchestratedPolicy::dedicated(std::uint64_t application, Nanos now) const {
  return choice_at(kSliced).dedicated(application, now);
}

PolicyCounters OrchestratedPolicy::counters() const {
  PolicyCounters counters = choice_at(kSliced).counters();
  const PolicyCounters of_rest = choice_at(kRest).counters();
  counters.dispatches += of_rest.dispatches;
  counters.crossovers += of_rest.crossovers;
  counters.interval = of_rest.interval;
  return counters;
}

std::size_t OrchestratedPolicy::planned(Nanos now) const {
  return from_ <= now && now < to_ ? kSliced : kRest;
}

Nanos OrchestratedPolicy::next_step(Nanos now) const {
  if (now < from_) return from_;
  return now < to_ ? to_ : Nanos::max();
}

}  // namespace tutti
