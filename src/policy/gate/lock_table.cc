#include "policy/gate/lock_table.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tutti::gate {
namespace {

constexpr std::size_t kMostLost = 4096;  // lost asks that are remembered
// Who waits for a holder that is late is looked at no more often than this.
constexpr Nanos kLeastReview = 20_ms;
// Whoever waits is looked at again when something was learned; of a long queue only so many, for the cost.
constexpr std::size_t kReviews = 16;
// When somebody who could write beside the others is looked at again while there are no fencing numbers.
constexpr Nanos kNoFences = 10_ms;
// The same while one of them wants to be alone: nobody writes beside it, so this need not be often.
constexpr Nanos kKeptApart = 1_s;

std::vector<Resource> ascending(std::vector<Resource> resources) {
  std::sort(resources.begin(), resources.end());
  resources.erase(std::unique(resources.begin(), resources.end()), resources.end());
  return resources;
}

Nanos later(Nanos from, Nanos by) { return by >= Nanos::max() - from ? Nanos::max() : from + by; }

}  // namespace

LockTable::LockTable(LockOptions options) : options_(options) {
  options_.holders = std::max<std::uint32_t>(options_.holders, 1);
}

void LockTable::reserve(std::uint64_t first, std::uint64_t end) {
  next_fence_ = std::max({next_fence_, first, std::uint64_t{1}});
  fence_end_ = std::max({fence_end_, end, next_fence_});
  if (grace_open_ && old_fences_ == 0) old_fences_ = first;
  settle(resources());
}

void LockTable::restore(std::span<const LockRecord> records, Nanos now) {
  now_ = std::max(now_, now);
  grace_end_ = later(now_, options_.grace);
  grace_open_ = true;
  old_fences_ = next_fence_;  // 0 if reserve() is still to come
  std::vector<const LockRecord*> sorted;
  for (const LockRecord& record : records) sorted.push_back(&record);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->sequence < b->sequence; });
  for (const LockRecord* record : sorted) {
    next_sequence_ = std::max(next_sequence_, record->sequence + 1);
    Demand demand;
    demand.job = record->job;
    for (const std::uint64_t number : record->numbers) {
      if (!by_name_.contains({record->job, number})) demand.numbers.insert(number);
    }
    demand.resources = ascending(record->resources);
    if (demand.numbers.empty() || demand.resources.empty() || record->standing == Standing::gone ||
        demands_.contains(record->sequence)) {
      changed_.insert(record->sequence);
      continue;
    }
    demand.standing = record->standing;
    demand.reason = record->reason;
    demand.fence = record->fence;
    demand.holders = record->holders;
    demand.expected = record->expected;
    demand.alone = record->alone;
    demand.asked = now_;
    demand.expiry = later(now_, std::max(options_.grace, options_.lease));
    if (demand.standing == Standing::granted) {
      for (const Resource& each : demand.resources)
        line(each).holders = std::max(line(each).holders, record->holders);
    }
    add(record->sequence, std::move(demand));
  }
}

void LockTable::tick(Nanos now) {
  now_ = std::max(now_, now);
  // A lease that ends makes room; limits and reviews come after it, so that somebody who can be granted does not pass.
  while (!leases_.empty() && leases_.begin()->first <= now_) {
    const std::uint64_t sequence = leases_.begin()->second;
    remove(sequence, Bytes(), true);
  }
  if (grace_open_ && now_ >= grace_end_) {
    grace_open_ = false;
    settle(resources());
  }
  if (grace_open_) return;
  while (!limits_.empty() && limits_.begin()->first <= now_) {
    const std::uint64_t sequence = limits_.begin()->second;
    pass(sequence, demands_.at(sequence), PassReason::blocked);
  }
  while (!reviews_.empty() && reviews_.begin()->first <= now_) {
    review(reviews_.begin()->second);
  }
}

void LockTable::advance(Nanos now) { tick(now); }

Nanos LockTable::next() const {
  Nanos next = Nanos::max();
  if (grace_open_) next = grace_end_;
  if (!leases_.empty()) next = std::min(next, leases_.begin()->first);
  if (grace_open_) return next;
  if (!limits_.empty()) next = std::min(next, limits_.begin()->first);
  if (!reviews_.empty()) next = std::min(next, reviews_.begin()->first);
  return next;
}

Answer LockTable::answer_of(const Demand& demand) const {
  return {demand.standing, demand.reason, demand.fence, demand.expiry};
}

Answer LockTable::answer(AskName name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? Answer() : answer_of(demands_.at(found->second));
}

std::uint64_t LockTable::covering(std::uint64_t job, const std::vector<Resource>& resources) const {
  const auto found = by_job_.find(job);
  if (found == by_job_.end()) return 0;
  for (const std::uint64_t sequence : found->second) {
    const Demand& demand = demands_.at(sequence);
    if (std::includes(demand.resources.begin(), demand.resources.end(), resources.begin(), resources.end())) {
      return sequence;
    }
  }
  return 0;
}

bool LockTable::holds(std::uint64_t job) const {
  const auto found = by_job_.find(job);
  if (found == by_job_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [this](std::uint64_t sequence) {
    return demands_.at(sequence).standing == Standing::granted;
  });
}

LockTable::Line& LockTable::line(const Resource& resource) {
  const auto [found, added] = lines_.try_emplace(resource);
  if (added) found->second.holders = options_.holders;
  return found->second;
}

LockTable::Demand& LockTable::add(std::uint64_t sequence, Demand demand) {
  Demand& added = demands_.emplace(sequence, std::move(demand)).first->second;
  for (const std::uint64_t number : added.numbers) by_name_[{added.job, number}] = sequence;
  by_job_[added.job].insert(sequence);
  leases_.emplace(added.expiry, sequence);
  const Bytes share = added.expected / added.resources.size();
  for (const Resource& each : added.resources) {
    Line& at = line(each);
    if (options_.order == Order::learned) at.learned.ask(sequence, added.job, share, now_);
    if (added.standing == Standing::waiting) at.waiting.insert(place(at, sequence, added));
    if (added.standing == Standing::granted) at.held.insert(sequence);
    if (added.standing != Standing::waiting) at.learned.begin(sequence, now_);
  }
  if (added.standing == Standing::waiting) {
    ++waiting_;
    const Nanos limit = later(added.asked, options_.most_blocked);
    if (limit < Nanos::max()) limits_.emplace(limit, sequence);
  }
  changed_.insert(sequence);
  return added;
}

LockTable::Place LockTable::place(const Line& line, std::uint64_t sequence, const Demand& demand) const {
  constexpr double kFirst = -1;
  if (demand.alone && options_.order != Order::preserved) return {kFirst, sequence};
  return {options_.order == Order::learned ? line.learned.expected(sequence) : 0, sequence};
}

void LockTable::touch(std::uint64_t sequence, Demand& demand) {
  leases_.erase({demand.expiry, sequence});
  demand.expiry = later(now_, options_.lease);
  leases_.emplace(demand.expiry, sequence);
}

void LockTable::tell(const Demand& demand) {
  for (const std::uint64_t number : demand.numbers) {
    decisions_.push_back({{demand.job, number}, answer_of(demand)});
  }
}

Answer LockTable::ask(const Ask& ask, Nanos now) {
  tick(now);
  const auto known = by_name_.find(ask.name);
  if (known != by_name_.end()) {
    Demand& demand = demands_.at(known->second);
    touch(known->second, demand);
    return answer_of(demand);
  }
  if (ask.resources.empty()) return {};
  ++counters_.asked;
  std::vector<Resource> resources = ascending(ask.resources);
  if (const std::uint64_t joined = covering(ask.name.job, resources); joined != 0) {
    ++counters_.joined;
    Demand& demand = demands_.at(joined);
    demand.numbers.insert(ask.name.number);
    by_name_[ask.name] = joined;
    touch(joined, demand);
    changed_.insert(joined);
    return answer_of(demand);
  }
  const std::uint64_t sequence = next_sequence_++;
  Demand demand;
  demand.job = ask.name.job;
  demand.numbers = {ask.name.number};
  demand.resources = resources;
  demand.expected = ask.expected;
  demand.alone = ask.alone;
  demand.asked = now_;
  demand.expiry = later(now_, options_.lease);
  add(sequence, std::move(demand));
  const std::size_t told = decisions_.size();
  settle(resources);
  if (options_.order == Order::learned) review(sequence);
  Demand& added = demands_.at(sequence);
  if (added.standing == Standing::waiting && holds(added.job)) pass(sequence, added, PassReason::holding);
  // The asker has its answer from this call.
  const auto own = std::find_if(decisions_.begin() + static_cast<std::ptrdiff_t>(told), decisions_.end(),
                                [&ask](const Decision& decision) { return decision.name == ask.name; });
  if (own != decisions_.end()) decisions_.erase(own);
  return answer_of(added);
}

Status LockTable::reassert(const Ask& ask, std::uint64_t fence, Nanos now) {
  tick(now);
  if (const auto known = by_name_.find(ask.name); known != by_name_.end()) {
    Demand& demand = demands_.at(known->second);
    if (demand.standing == Standing::granted && demand.fence == fence) {
      touch(known->second, demand);
      return {};
    }
  }
  const Status stale(Code::stale, "gate: grant " + std::to_string(fence) + " of job " +
                                      std::to_string(ask.name.job) + " is lost: ask for a new one");
  if (!grace_open_ || fence == 0 || fence >= old_fences_ || ask.resources.empty()) return stale;
  const std::vector<Resource> resources = ascending(ask.resources);
  std::uint64_t sequence = covering(ask.name.job, resources);
  if (sequence == 0 || demands_.at(sequence).fence != fence) {
    if (!make_room(resources, fence, ask.alone)) return stale;
    sequence = next_sequence_++;
    Demand demand;
    demand.job = ask.name.job;
    demand.resources = resources;
    demand.standing = Standing::granted;
    demand.fence = fence;
    demand.expected = ask.expected;
    demand.alone = ask.alone;
    demand.asked = now_;
    demand.expiry = later(now_, options_.lease);
    add(sequence, std::move(demand));
  }
  forget(ask.name);
  demands_.at(sequence).numbers.insert(ask.name.number);
  by_name_[ask.name] = sequence;
  touch(sequence, demands_.at(sequence));
  changed_.insert(sequence);
  ++counters_.reasserted;
  return {};
}

// Of those with lower numbers: whoever has the higher one got it after they had lost theirs.
bool LockTable::make_room(const std::vector<Resource>& resources, std::uint64_t fence, bool alone) {
  std::set<std::uint64_t> losers;
  for (const Resource& each : resources) {
    const Line& at = line(each);
    // What k had been learned is not stored: it was at least as many as hold now.
    const bool one = alone || held_alone(at);
    if (options_.order == Order::learned && !one) continue;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> held;  // fence, sequence
    for (const std::uint64_t sequence : at.held) held.emplace_back(demands_.at(sequence).fence, sequence);
    std::sort(held.begin(), held.end());
    for (std::size_t i = 0; held.size() - i >= (one ? 1 : at.holders); ++i) {
      if (held[i].first >= fence) return false;
      losers.insert(held[i].second);
    }
  }
  for (const std::uint64_t sequence : losers) remove(sequence, Bytes(), true);
  return true;
}

void LockTable::forget(AskName name) {
  const auto known = by_name_.find(name);
  if (known == by_name_.end()) return;
  const std::uint64_t sequence = known->second;
  Demand& demand = demands_.at(sequence);
  if (demand.numbers.size() == 1) return remove(sequence, Bytes(), false);
  demand.numbers.erase(name.number);
  by_name_.erase(known);
  changed_.insert(sequence);
}

Status LockTable::release(AskName name, Bytes written, Nanos now, std::span<const Resource> claimed) {
  tick(now);
  const auto known = by_name_.find(name);
  if (known == by_name_.end()) {
    ++counters_.errors;
    for (const Resource& each : claimed) {
      if (const auto found = lines_.find(each); found != lines_.end()) found->second.error = true;
    }
    const bool lost =
        std::any_of(lost_.begin(), lost_.end(), [&name](const Lost& each) { return each.name == name; });
    return lost ? Status(Code::stale, "gate: the lease of what is released had ended")
                : Status(Code::not_found, "gate: nothing of this name is held or waited for");
  }
  const std::uint64_t sequence = known->second;
  Demand& demand = demands_.at(sequence);
  demand.written += written;
  if (demand.numbers.size() > 1) {
    demand.numbers.erase(name.number);
    by_name_.erase(known);
    changed_.insert(sequence);
    return {};
  }
  remove(sequence, demand.written, false);
  return {};
}

bool LockTable::renew(std::uint64_t job, Nanos now) {
  tick(now);
  const auto found = by_job_.find(job);
  if (found == by_job_.end()) return false;
  for (const std::uint64_t sequence : found->second) touch(sequence, demands_.at(sequence));
  return true;
}

void LockTable::leave(std::uint64_t job, Nanos now) {
  tick(now);
  std::vector<std::uint64_t> sequences;
  if (const auto found = by_job_.find(job); found != by_job_.end()) {
    sequences.assign(found->second.begin(), found->second.end());
  }
  // Those that wait first: none of them may be granted by what the job gives back.
  for (const bool waits : {true, false}) {
    for (const std::uint64_t sequence : sequences) {
      const auto demand = demands_.find(sequence);
      if (demand == demands_.end() || (demand->second.standing == Standing::waiting) != waits) continue;
      remove(sequence, demand->second.written, false);
    }
  }
  for (auto& [name, line] : lines_) line.learned.leave(job, now_);
}

void LockTable::set_holders(const Resource& resource, std::uint32_t holders, Nanos now) {
  tick(now);
  line(resource).holders = std::max<std::uint32_t>(holders, 1);
  settle({resource});
}

std::uint32_t LockTable::limit(const Line& line) const {
  if (held_alone(line)) return 1;
  return options_.order == Order::learned ? line.learned.most() : line.holders;
}

std::uint32_t LockTable::holders(const Resource& resource) const {
  const auto found = lines_.find(resource);
  if (found != lines_.end()) return limit(found->second);
  return options_.order == Order::learned ? Holders::kUnlimited : options_.holders;
}

bool LockTable::admissible(std::uint64_t sequence, const Demand& demand) const {
  return std::all_of(demand.resources.begin(), demand.resources.end(), [&](const Resource& each) {
    const Line& at = lines_.at(each);
    if (at.held.size() >= limit(at) || kept_apart(sequence, demand)) return false;
    return options_.order != Order::preserved || at.waiting.begin()->sequence == sequence;
  });
}

bool LockTable::held_alone(const Line& line) const {
  return std::any_of(line.held.begin(), line.held.end(),
                     [this](std::uint64_t sequence) { return demands_.at(sequence).alone; });
}

bool LockTable::kept_apart(std::uint64_t sequence, const Demand& demand) const {
  return std::any_of(demand.resources.begin(), demand.resources.end(), [&](const Resource& each) {
    const Line& at = lines_.at(each);
    if (demand.alone ? !at.held.empty() : held_alone(at)) return true;
    // The first that waits; with Order::preserved the others wait for it anyway.
    const std::uint64_t first = at.waiting.empty() ? sequence : at.waiting.begin()->sequence;
    return first != sequence && demands_.at(first).alone;
  });
}

bool LockTable::pays_to_wait(std::uint64_t sequence, Demand& demand) const {
  // It ends with the slowest of its resources, in any case.
  Holders::Outlook all;
  all.credit = std::numeric_limits<double>::max();
  for (const Resource& each : demand.resources) {
    const auto ahead = lines_.at(each).learned.outlook(sequence, now_);
    if (!ahead) return false;
    all.begins = std::max(all.begins, ahead->begins);
    all.ends = std::max(all.ends, ahead->ends);
    all.ends_beside = std::max(all.ends_beside, ahead->ends_beside);
    all.gain += ahead->gain;
    all.credit = std::min(all.credit, ahead->credit);
  }
  if (!demand.at_once) demand.at_once = all.ends_beside;
  const double waited = (now_ - demand.asked).seconds();
  const double afford = all.credit - (waited + all.ends - *demand.at_once);
  if (all.gain <= 0 || all.credit < 0 || afford < 0) return false;
  // Look again when it should have begun, and when it cannot afford more if nothing happens until then.
  demand.review = now_ + std::max(kLeastReview, Nanos::from_seconds(std::min(all.begins, afford)));
  return true;
}

void LockTable::settle(const std::vector<Resource>& resources) {
  std::vector<Resource> touched = resources;
  while (!touched.empty() && !grace_open_) {
    const Resource resource = std::move(touched.back());
    touched.pop_back();
    Line& at = line(resource);
    for (auto next = at.waiting.begin(); next != at.waiting.end() && at.held.size() < limit(at);) {
      if (next_fence_ >= fence_end_) return;
      const Place place = *next;
      Demand& demand = demands_.at(place.sequence);
      if (admissible(place.sequence, demand)) {
        grant(place.sequence, demand);
        // Whoever stood behind it at its other resources may be the first there now.
        if (options_.order == Order::preserved || demand.alone) {
          touched.insert(touched.end(), demand.resources.begin(), demand.resources.end());
        }
      } else if (options_.order == Order::preserved || demand.alone) {
        break;  // nobody overtakes it
      }
      next = at.waiting.upper_bound(place);
    }
  }
}

void LockTable::review(std::uint64_t sequence) {
  const auto found = demands_.find(sequence);
  if (found == demands_.end() || found->second.standing != Standing::waiting || grace_open_) return;
  Demand& demand = found->second;
  reviews_.erase({demand.review, sequence});
  if (kept_apart(sequence, demand)) {
    demand.review = now_ + kKeptApart;
  } else if (next_fence_ >= fence_end_) {
    demand.review = now_ + kNoFences;
  } else if (!pays_to_wait(sequence, demand)) {
    grant(sequence, demand);
    return;
  }
  reviews_.emplace(demand.review, sequence);
}

void LockTable::unqueue(std::uint64_t sequence, const Demand& demand) {
  --waiting_;
  for (const Resource& each : demand.resources) {
    Line& at = line(each);
    at.waiting.erase(place(at, sequence, demand));
  }
  limits_.erase({later(demand.asked, options_.most_blocked), sequence});
  reviews_.erase({demand.review, sequence});
}

void LockTable::grant(std::uint64_t sequence, Demand& demand) {
  unqueue(sequence, demand);
  demand.standing = Standing::granted;
  demand.fence = next_fence_++;
  demand.holders = Holders::kUnlimited;
  for (const Resource& each : demand.resources) {
    Line& at = line(each);
    demand.holders = std::min(demand.holders, limit(at));
    at.held.insert(sequence);
    at.error = false;
    at.learned.begin(sequence, now_);
  }
  touch(sequence, demand);
  ++counters_.granted;
  changed_.insert(sequence);
  tell(demand);
  pass_others(demand.job);
}

void LockTable::pass_others(std::uint64_t job) {
  const std::set<std::uint64_t> all = by_job_.at(job);
  for (const std::uint64_t sequence : all) {
    Demand& demand = demands_.at(sequence);
    if (demand.standing == Standing::waiting) pass(sequence, demand, PassReason::holding);
  }
}

void LockTable::pass(std::uint64_t sequence, Demand& demand, PassReason reason) {
  unqueue(sequence, demand);
  demand.standing = Standing::passed;
  demand.reason = reason;
  touch(sequence, demand);
  (reason == PassReason::blocked ? counters_.passed_blocked : counters_.passed_holding)++;
  for (const Resource& each : demand.resources) line(each).learned.begin(sequence, now_);
  changed_.insert(sequence);
  tell(demand);
  // Nobody waits behind it any more.
  const std::vector<Resource> resources = demand.resources;
  if (options_.order == Order::preserved) settle(resources);
}

void LockTable::remove(std::uint64_t sequence, Bytes written, bool lost) {
  const auto found = demands_.find(sequence);
  const Demand demand = std::move(found->second);
  demands_.erase(found);
  leases_.erase({demand.expiry, sequence});
  if (demand.standing == Standing::waiting) unqueue(sequence, demand);
  const Bytes share = written / demand.resources.size();
  for (const Resource& each : demand.resources) {
    Line& at = line(each);
    at.held.erase(sequence);
    at.learned.end(sequence, lost ? Bytes() : share, now_);
    if (lost && demand.standing == Standing::granted) at.error = true;
  }
  for (const std::uint64_t number : demand.numbers) {
    by_name_.erase({demand.job, number});
    if (!lost) continue;
    decisions_.push_back({{demand.job, number}, {Standing::gone, PassReason::none, demand.fence, now_}});
    lost_.push_back({{demand.job, number}, demand.fence});
    if (lost_.size() > kMostLost) lost_.pop_front();
  }
  auto& sequences = by_job_.at(demand.job);
  sequences.erase(sequence);
  if (sequences.empty()) by_job_.erase(demand.job);
  changed_.insert(sequence);
  if (lost) {
    (demand.standing == Standing::granted ? counters_.lost : counters_.forgotten)++;
  } else {
    ++counters_.released;
  }
  settle(demand.resources);
  if (options_.order == Order::learned) review_first(demand.resources);
}

void LockTable::review_first(const std::vector<Resource>& resources) {
  for (const Resource& each : resources) {
    std::vector<std::uint64_t> first;
    for (const Place& place : line(each).waiting) {
      first.push_back(place.sequence);
      if (first.size() >= kReviews) break;
    }
    for (const std::uint64_t sequence : first) review(sequence);
  }
}

std::vector<Decision> LockTable::take_decisions() { return std::exchange(decisions_, {}); }

std::vector<LockChange> LockTable::take_changes() {
  std::vector<LockChange> changes;
  for (const std::uint64_t sequence : std::exchange(changed_, {})) {
    LockChange& change = changes.emplace_back();
    change.sequence = sequence;
    const auto found = demands_.find(sequence);
    if (found == demands_.end()) continue;
    const Demand& demand = found->second;
    change.record = LockRecord{.sequence = sequence,
                               .job = demand.job,
                               .numbers = {demand.numbers.begin(), demand.numbers.end()},
                               .resources = demand.resources,
                               .standing = demand.standing,
                               .reason = demand.reason,
                               .fence = demand.fence,
                               .holders = demand.holders,
                               .expected = demand.expected,
                               .alone = demand.alone};
  }
  return changes;
}

std::vector<LockRecord> LockTable::records() const {
  std::vector<LockRecord> records;
  for (const auto& [sequence, demand] : demands_) {
    records.push_back({.sequence = sequence,
                       .job = demand.job,
                       .numbers = {demand.numbers.begin(), demand.numbers.end()},
                       .resources = demand.resources,
                       .standing = demand.standing,
                       .reason = demand.reason,
                       .fence = demand.fence,
                       .holders = demand.holders,
                       .expected = demand.expected,
                       .alone = demand.alone});
  }
  return records;
}

std::vector<Resource> LockTable::resources() const {
  std::vector<Resource> names;
  for (const auto& [name, line] : lines_) names.push_back(name);
  return names;
}

LockState LockTable::state(const Resource& resource) const {
  const auto found = lines_.find(resource);
  if (found == lines_.end()) return LockState::idle;
  if (found->second.error) return LockState::error;
  return found->second.held.empty() ? LockState::idle : LockState::active;
}

const Holders* LockTable::learned(const Resource& resource) const {
  const auto found = lines_.find(resource);
  return found == lines_.end() ? nullptr : &found->second.learned;
}

}  // namespace tutti::gate
