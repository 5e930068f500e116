#include "policy/request/guarded_policy.h"

#include <algorithm>
#include <cassert>

#include "policy/parameters.h"

namespace tutti {

Result<std::uint64_t> GuardedPolicy::read_depth(const Parameters& parameters) {
  return parameters.number("dispatch_depth", kDefaultDepth, 1, 65536);
}

void GuardedPolicy::add(const QueuedRequest& request, Nanos now) {
  const Handle handle = take_entry(request);
  index_.insert(request.id, handle);
  claims_.add(handle, request.object, request.offset, request.end, request.write);
  admit(handle, now);
}

Decision GuardedPolicy::next(Nanos now) {
  if (in_service_ >= depth_) return Decision::idle();
  if (!returned_.empty()) {
    const Handle handle = returned_.front();
    returned_.pop_front();
    return start(handle);
  }
  if (entered_ == 0) return Decision::idle();
  const Choice choice = choose(now);
  if (choice.handle != kNone) {
    assert(entries_[choice.handle].state == State::entered);
    --entered_;
    return start(choice.handle, choice.quantum);
  }
  return choice.until == Nanos::max() ? Decision::idle() : Decision::wait(choice.until);
}

Decision GuardedPolicy::start(Handle handle, Bytes quantum) {
  Entry& entry = entries_[handle];
  entry.state = State::in_service;
  ++in_service_;
  ++counters_.dispatches;
  return Decision::dispatch(entry.request.id, quantum);
}

void GuardedPolicy::served(std::uint64_t id, Bytes /*bytes*/, bool finished, Nanos now) {
  const Handle handle = index_.find(id);
  assert(handle != kNone && entries_[handle].state == State::in_service);
  --in_service_;
  if (!finished && orders_again()) {
    entries_[handle].state = State::entered;
    ++entered_;
    enter(handle, now);
    return;
  }
  if (!finished) {
    entries_[handle].state = State::returned;
    returned_.push_back(handle);
    return;
  }
  ended(handle, now);
  release(handle, now);
}

void GuardedPolicy::drop(std::uint64_t id, Nanos now) {
  const Handle handle = index_.find(id);
  assert(handle != kNone && entries_[handle].state != State::in_service);
  switch (entries_[handle].state) {
    case State::blocked:
      stop_waiting(handle);
      break;
    case State::entered:
      --entered_;
      left(handle, now);
      break;
    case State::returned:
      returned_.erase(std::find(returned_.begin(), returned_.end(), handle));
      ended(handle, now);
      break;
    case State::in_service:
      break;
  }
  release(handle, now);
}

GuardedPolicy::Handle GuardedPolicy::take_entry(const QueuedRequest& request) {
  auto handle = static_cast<Handle>(entries_.size());
  if (free_entries_.empty()) {
    entries_.emplace_back();
  } else {
    handle = free_entries_.back();
    free_entries_.pop_back();
  }
  entries_[handle] = Entry();
  entries_[handle].request = request;
  return handle;
}

void GuardedPolicy::admit(Handle handle, Nanos now) {
  const Handle other = claims_.earlier(handle);
  if (other != kNone) return wait_for(handle, other);
  entries_[handle].state = State::entered;
  ++entered_;
  enter(handle, now);
}

void GuardedPolicy::wait_for(Handle handle, Handle other) {
  Entry& entry = entries_[handle];
  Entry& ahead = entries_[other];
  entry.waits_for = other;
  entry.previous = ahead.last_waiter;
  entry.next = kNone;
  (ahead.last_waiter == kNone ? ahead.first_waiter : entries_[ahead.last_waiter].next) = handle;
  ahead.last_waiter = handle;
}

void GuardedPolicy::stop_waiting(Handle handle) {
  const Entry& entry = entries_[handle];
  Entry& ahead = entries_[entry.waits_for];
  (entry.previous == kNone ? ahead.first_waiter : entries_[entry.previous].next) = entry.next;
  (entry.next == kNone ? ahead.last_waiter : entries_[entry.next].previous) = entry.previous;
}

void GuardedPolicy::release(Handle handle, Nanos now) {
  claims_.remove(handle);
  index_.erase(entries_[handle].request.id);
  Handle waiter = entries_[handle].first_waiter;
  while (waiter != kNone) {
    const Handle next = entries_[waiter].next;
    admit(waiter, now);
    waiter = next;
  }
  free_entries_.push_back(handle);
}

}  // namespace tutti
