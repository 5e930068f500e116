#include "policy/request/automatic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "policy/request/registry.h"
#include "policy/request/window_options.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"rotational"};
constexpr std::array<std::string_view, 2> kFlags = {"false", "true"};

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  const auto rotational = parameters.choice("rotational", 0, kFlags);
  if (!rotational.ok()) return rotational.status();
  std::vector<std::unique_ptr<RequestPolicy>> choices;
  for (const std::string& each : automatic_choices(*rotational == 1)) {
    auto made = make_request_policy(each);
    if (!made.ok()) return made.status();
    choices.push_back(*std::move(made));
  }
  return std::unique_ptr<RequestPolicy>(std::make_unique<AutomaticPolicy>(
      std::move(choices), fmt::format("auto;rotational={}", kFlags.at(*rotational))));
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::automatic = {"auto", kParameters, make};

std::vector<std::string> automatic_choices(bool rotational) {
  return {for_device("window", rotational), "fcfs", for_device("window;order=rotated", rotational)};
}

AutomaticPolicy::AutomaticPolicy(std::vector<std::unique_ptr<RequestPolicy>> choices, std::string name)
    : name_(std::move(name)), choices_(std::move(choices)) {
  assert(!choices_.empty());
}

void AutomaticPolicy::advise(const Advice& advice, Nanos /*now*/) {
  plan_ = advice.plan;
  expiry_ = advice.expiry;
}

std::size_t AutomaticPolicy::planned(Nanos now) const {
  std::size_t choice = 0;
  if (now >= expiry_) return choice;
  for (const PlanStep& step : plan_) {
    if (step.from > now) break;
    // A newer coordinator may know more of them.
    choice = step.choice < choices_.size() ? step.choice : 0;
  }
  return choice;
}

Nanos AutomaticPolicy::next_step(Nanos now) const {
  if (now >= expiry_) return Nanos::max();
  Nanos next = expiry_;
  for (const PlanStep& step : plan_) {
    if (step.from > now) next = std::min(next, step.from);
  }
  return next;
}

void AutomaticPolicy::add(const QueuedRequest& request, Nanos now) {
  Place place = static_cast<Place>(entries_.size());
  if (free_entries_.empty()) {
    entries_.emplace_back();
  } else {
    place = free_entries_.back();
    free_entries_.pop_back();
  }
  entries_[place] = {request, current_, false};
  index_.insert(request.id, place);
  choices_[current_]->add(request, now);
}

Decision AutomaticPolicy::next(Nanos now) {
  if (const std::size_t choice = planned(now); choice != current_) change_to(choice, now);
  if (of_others_ > 0) return Decision::idle();
  Decision decision = choices_[current_]->next(now);
  if (decision.kind == Decision::Kind::dispatch) {
    entries_[index_.find(decision.id)].in_service = true;
    ++in_service_;
    return decision;
  }
  const Nanos step = queued() > 0 ? next_step(now) : Nanos::max();
  if (decision.kind == Decision::Kind::wait) return Decision::wait(std::min(decision.until, step));
  return step < Nanos::max() ? Decision::wait(step) : decision;
}

void AutomaticPolicy::change_to(std::size_t choice, Nanos now) {
  std::vector<Place> waiting;
  of_others_ = 0;
  for (Place place = 0; place < entries_.size(); ++place) {
    const Entry& entry = entries_[place];
    if (entry.request.id == 0) continue;
    if (entry.in_service) {
      of_others_ += entry.choice == choice ? 0 : 1;
    } else {
      waiting.push_back(place);
    }
  }
  std::sort(waiting.begin(), waiting.end(),
            [this](Place a, Place b) { return entries_[a].request.id < entries_[b].request.id; });
  for (const Place place : waiting) {
    Entry& entry = entries_[place];
    choices_[entry.choice]->drop(entry.request.id, now);
    entry.choice = choice;
    choices_[choice]->add(entry.request, now);
  }
  current_ = choice;
}

void AutomaticPolicy::served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) {
  const Place place = index_.find(id);
  Entry& entry = entries_[place];
  --in_service_;
  entry.in_service = false;
  choices_[entry.choice]->served(id, bytes, finished, now);
  if (entry.choice != current_) {
    --of_others_;
    if (!finished) {
      choices_[entry.choice]->drop(id, now);
      entry.choice = current_;
      choices_[current_]->add(entry.request, now);
    }
  }
  if (finished) forget(place);
}

void AutomaticPolicy::drop(std::uint64_t id, Nanos now) {
  const Place place = index_.find(id);
  choices_[entries_[place].choice]->drop(id, now);
  forget(place);
}

void AutomaticPolicy::forget(Place place) {
  index_.erase(entries_[place].request.id);
  entries_[place] = {};
  free_entries_.push_back(place);
}

}  // namespace tutti
