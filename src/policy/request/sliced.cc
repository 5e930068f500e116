#include "policy/request/sliced.h"

#include <algorithm>

#include "policy/request/window_rank.h"

namespace tutti {
namespace {

// Programs that are remembered though they have nothing here.
constexpr std::size_t kRemembered = 256;
constexpr Nanos kTurns = 8192_ms;  // as the default of `window`

Nanos nanos(double value) { return Nanos(static_cast<std::int64_t>(value)); }

}  // namespace

void SlicedPolicy::Idle::end(Nanos now, bool came_back) {
  if (!since) return;
  const auto passed = static_cast<double>((now - *since).count());
  since.reset();
  if (came_back || passed > mean.value_or(0)) mean.add(passed);
}

PolicyCounters SlicedPolicy::counters() const {
  PolicyCounters counters = GuardedPolicy::counters();
  counters.switches = slice_counters_.switches;
  counters.drain = slice_counters_.drain;
  counters.longest_drain = slice_counters_.longest_drain;
  counters.filled = slice_counters_.filled;
  return counters;
}

void SlicedPolicy::advise(const Advice& advice, Nanos /*now*/) {
  slices_ = advice.slices;
  expiry_ = advice.expiry;
  rest_has_slice_ = false;
  named_.clear();
  for (const TimeSlice& slice : slices_) {
    if (slice.rest) {
      rest_has_slice_ = true;
    } else {
      named_.push_back(slice.application);
    }
  }
  std::sort(named_.begin(), named_.end());
  named_.erase(std::unique(named_.begin(), named_.end()), named_.end());
}

const TimeSlice* SlicedPolicy::slice_at(Nanos now) const {
  if (now >= expiry_) return nullptr;
  for (const TimeSlice& slice : slices_) {
    if (slice.from <= now && now < slice.to) return &slice;
  }
  return nullptr;
}

Nanos SlicedPolicy::next_change(Nanos now) const {
  if (now >= expiry_) return Nanos::max();
  Nanos next = slices_.empty() ? Nanos::max() : expiry_;
  for (const TimeSlice& slice : slices_) {
    if (slice.from > now) next = std::min(next, slice.from);
    if (slice.to > now) next = std::min(next, slice.to);
  }
  return next;
}

bool SlicedPolicy::named(std::uint64_t application) const {
  return std::binary_search(named_.begin(), named_.end(), application);
}

bool SlicedPolicy::belongs(std::uint64_t application, const TimeSlice& slice) const {
  if (!named(application)) return slice.rest || !rest_has_slice_;
  return !slice.rest && slice.application == application;
}

std::optional<Dedicated> SlicedPolicy::dedicated(std::uint64_t application, Nanos now) const {
  const TimeSlice* slice = slice_at(now);
  if (slice == nullptr || !belongs(application, *slice)) return std::nullopt;
  const bool own = !slice->rest && slice->application == application;
  if (!own && !slice->rest) return std::nullopt;
  return Dedicated{slice->from, slice->rest};
}

SlicedPolicy::Rank SlicedPolicy::rank_of(Handle handle) const {
  const QueuedRequest& each = request(handle);
  Rank rank{0, 0, each.id, handle};
  if (options_.window_for_rest()) {
    const Nanos time = std::max(each.request_time, Nanos());
    rank.window = static_cast<std::uint64_t>(time / options_.interval);
    rank.turn = window_turn(static_cast<std::uint64_t>(time / kTurns), each.application);
  }
  return rank;
}

void SlicedPolicy::enter(Handle handle, Nanos now) {
  const std::uint64_t application = request(handle).application;
  programs_[application].line.insert(rank_of(handle));
  line_.insert(rank_of(handle));
  const TimeSlice* slice = slice_at(now);
  if (slice == nullptr || !belongs(application, *slice)) return;
  enter_slice(*slice, now);
  idle_of(*slice).end(now, true);
}

void SlicedPolicy::left(Handle handle, Nanos /*now*/) {
  const std::uint64_t application = request(handle).application;
  programs_[application].line.erase(rank_of(handle));
  line_.erase(rank_of(handle));
  tidy(application);
}

SlicedPolicy::Handle SlicedPolicy::first_unnamed() const {
  for (const Rank& rank : line_) {
    if (!named(request(rank.handle).application)) return rank.handle;
  }
  return kNone;
}

SlicedPolicy::Handle SlicedPolicy::first_of(const TimeSlice& slice) const {
  const Handle unnamed = slice.rest || !rest_has_slice_ ? first_unnamed() : kNone;
  if (slice.rest) return unnamed;
  const auto own = programs_.find(slice.application);
  if (own == programs_.end() || own->second.line.empty()) return unnamed;
  const Rank& head = *own->second.line.begin();
  return unnamed != kNone && rank_of(unnamed) < head ? unnamed : head.handle;
}

SlicedPolicy::Choice SlicedPolicy::take(Handle handle, Nanos now) {
  const QueuedRequest& each = request(handle);
  Program& program = programs_[each.application];
  program.line.erase(rank_of(handle));
  line_.erase(rank_of(handle));
  ++program.in_service;
  started_[handle] = {now, false};
  bytes_in_service_ += each.length;
  return Choice::dispatch(handle);
}

bool SlicedPolicy::owner_absent(const TimeSlice& slice) const {
  std::size_t of_named = 0;
  for (const std::uint64_t application : named_) {
    const auto found = programs_.find(application);
    if (found == programs_.end()) continue;
    of_named += found->second.line.size() + found->second.in_service;
    if (!slice.rest && application == slice.application && !found->second.absent()) return false;
  }
  // Those in no plan: the owner of this slice, or served at any time.
  const bool others = line_.size() + started_.size() > of_named;
  return !others || (!slice.rest && rest_has_slice_);
}

SlicedPolicy::Idle& SlicedPolicy::idle_of(const TimeSlice& slice) {
  return slice.rest ? rest_idle_ : programs_[slice.application].idle;
}

// At the first word in a slice: what is in service of others has to end first.
void SlicedPolicy::enter_slice(const TimeSlice& slice, Nanos now) {
  if (current_ && current_->from == slice.from && current_->application == slice.application &&
      current_->rest == slice.rest) {
    current_->to = slice.to;
    return;
  }
  if (current_) {
    idle_of(*current_).end(std::min(now, current_->to), false);
    ++slice_counters_.switches;
  }
  current_ = slice;
  foreign_ = 0;
  for (auto& [handle, started] : started_) {
    // What has no length (a sync) may take any time: nobody waits for it.
    started.foreign = !belongs(request(handle).application, slice) && request(handle).length > 0_B;
    foreign_ += started.foreign ? 1 : 0;
  }
  if (owner_absent(slice)) idle_of(slice).begin(slice.from);
}

// Requests that are answered from memory make it look cheaper than it is.
Nanos SlicedPolicy::jump() const {
  const Nanos first = options_.first_jump();
  return jump_.known() ? std::max(nanos(jump_.value()), first) : first;
}

bool SlicedPolicy::fits(const Program& program, Bytes length, const TimeSlice& slice, Nanos now) const {
  if (!program.per_byte.known()) return true;
  const Nanos alone = nanos(program.per_byte.value() * static_cast<double>(length.count()));
  const Nanos all =
      nanos(program.per_byte.value() * static_cast<double>((bytes_in_service_ + length).count()));
  if (now + all <= slice.to) return true;
  const Nanos whole = slice.to - slice.from;
  return in_service() == 0 && alone > whole && now < slice.from + whole / 2;
}

SlicedPolicy::Choice SlicedPolicy::choose(Nanos now) {
  const TimeSlice* slice = slice_at(now);
  if (slice == nullptr) {
    current_.reset();
    foreign_ = 0;
    return take(first(), now);
  }
  enter_slice(*slice, now);
  // A client that does not take its bytes holds nobody up for long.
  const Nanos patience = slice->from + (slice->to - slice->from) / 4;
  if (foreign_ > 0 && now < patience) return Choice::wait(patience);
  const Handle own = first_of(*slice);
  if (own == kNone) return fill(*slice, now);
  const QueuedRequest& each = request(own);
  if (fits(programs_[each.application], each.length, *slice, now)) return take(own, now);
  return Choice::wait(slice->to);
}

SlicedPolicy::Choice SlicedPolicy::fill(const TimeSlice& slice, Nanos now) {
  const Nanos end = next_change(now);
  if (!options_.conserve || in_service() > 0 || !owner_absent(slice)) return Choice::wait(end);
  Idle& idle = idle_of(slice);
  idle.begin(now);
  const Handle other = first();
  if (other == kNone) return Choice::wait(end);
  const QueuedRequest& each = request(other);
  const double per_byte = programs_[each.application].per_byte.value_or(0);
  const Nanos needed = jump() * 2 + nanos(per_byte * static_cast<double>(each.length.count()));
  const Nanos worth = *idle.since + (nanos(idle.mean.value_or(0)) > needed ? Nanos() : needed);
  if (now + needed > slice.to) return Choice::wait(end);
  if (now < worth) return Choice::wait(std::min(worth, end));
  ++slice_counters_.filled;
  return take(other, now);
}

// What the device needed: from the end of the one before, or from the begin if it was idle.
void SlicedPolicy::learn(Program& program, std::uint64_t application, Bytes length, Nanos started,
                         Nanos now) {
  const auto took = static_cast<double>((now - std::max(started, last_end_)).count());
  last_end_ = now;
  const bool same = std::exchange(last_program_, application) == application;
  if (length == 0_B) return;
  const auto bytes = static_cast<double>(length.count());
  if (same || !program.per_byte.known()) {
    program.per_byte.add(took / bytes);
  } else {
    jump_.add(std::max(0.0, took - bytes * program.per_byte.value()));
  }
}

void SlicedPolicy::ended(Handle handle, Nanos now) {
  const QueuedRequest& each = request(handle);
  const auto found = started_.find(handle);
  Program& program = programs_[each.application];
  --program.in_service;
  bytes_in_service_ -= each.length;
  learn(program, each.application, each.length, found->second.at, now);
  if (found->second.foreign && foreign_ > 0 && --foreign_ == 0 && current_ && now > current_->from) {
    const Nanos drain = now - current_->from;
    slice_counters_.drain += drain;
    slice_counters_.longest_drain = std::max(slice_counters_.longest_drain, drain);
  }
  started_.erase(found);
  const TimeSlice* slice = slice_at(now);
  if (slice != nullptr && belongs(each.application, *slice)) {
    enter_slice(*slice, now);
    if (owner_absent(*slice)) idle_of(*slice).begin(now);
  }
  tidy(each.application);
}

void SlicedPolicy::tidy(std::uint64_t application) {
  if (programs_.size() <= kRemembered || named(application)) return;
  const auto found = programs_.find(application);
  if (found != programs_.end() && found->second.absent()) programs_.erase(found);
}

}  // namespace tutti
