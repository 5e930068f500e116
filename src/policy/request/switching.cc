#include "policy/request/switching.h"

#include <algorithm>
#include <cassert>

namespace tutti {

SwitchingPolicy::SwitchingPolicy(std::vector<std::unique_ptr<RequestPolicy>> choices)
    : choices_(std::move(choices)) {
  assert(!choices_.empty());
}

void SwitchingPolicy::add(const QueuedRequest& request, Nanos now) {
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

Decision SwitchingPolicy::next(Nanos now) {
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

void SwitchingPolicy::change_to(std::size_t choice, Nanos now) {
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

void SwitchingPolicy::served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) {
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

void SwitchingPolicy::drop(std::uint64_t id, Nanos now) {
  const Place place = index_.find(id);
  choices_[entries_[place].choice]->drop(id, now);
  forget(place);
}

void SwitchingPolicy::forget(Place place) {
  index_.erase(entries_[place].request.id);
  entries_[place] = {};
  free_entries_.push_back(place);
}

}  // namespace tutti
