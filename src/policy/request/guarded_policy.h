// GuardedPolicy: what the request policies that come from other systems have in common. Pure.
//
// The policies of the field order requests and nothing else: the servers that they were made for keep conflicting ones
// apart in a lock manager, and have a number of threads that take the next one. This class stands for both, so that each
// policy is its order alone:
//   - Two requests that touch the same bytes, one of them to write, are never in service at once and are served in the
//     order of arrival. One that has to wait for another enters the order when nobody is in its way any more.
//   - At most dispatch_depth requests are in service at once.
//   - Requests are dispatched whole, unless the order names a quantum. One that comes back unfinished (the way to its object
//     was asked for) goes on at once and is not ordered again: it costs one token, one draw, one place in a batch. An order
//     in quanta says that it orders again.
// So the oldest request of a server is never held up here, and an order that serves all that has entered serves all.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "policy/request/claims.h"
#include "policy/request/flat_map.h"
#include "policy/request/policy.h"

namespace tutti {

class Parameters;

class GuardedPolicy : public RequestPolicy {
 public:
  static constexpr std::uint64_t kDefaultDepth = 16;
  // The parameter that all of them have.
  static Result<std::uint64_t> read_depth(const Parameters& parameters);

  void add(const QueuedRequest& request, Nanos now) final;
  Decision next(Nanos now) final;
  void served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) final;
  void drop(std::uint64_t id, Nanos now) final;
  [[nodiscard]] std::size_t queued() const final { return index_.size() - in_service_; }
  [[nodiscard]] PolicyCounters counters() const override { return counters_; }

 protected:
  using Handle = Claims::Handle;  // of a request; small, used again when the request is gone
  static constexpr Handle kNone = Claims::kNone;

  // What an order says when it is asked: this one; nobody before `until`; nobody before something happens.
  struct Choice {
    Handle handle = kNone;
    Nanos until = Nanos::max();
    Bytes quantum = Bytes::max();
    static Choice dispatch(Handle handle, Bytes quantum = Bytes::max()) {
      return {handle, Nanos::max(), quantum};
    }
    static Choice wait(Nanos until) { return {kNone, until, Bytes::max()}; }
    static Choice nobody() { return {}; }
  };

  explicit GuardedPolicy(std::uint64_t dispatch_depth) : depth_(dispatch_depth) {}
  [[nodiscard]] std::uint64_t dispatch_depth() const { return depth_; }
  [[nodiscard]] std::size_t in_service() const { return in_service_; }
  // Of a request from enter() until ended() or left() returns.
  [[nodiscard]] const QueuedRequest& request(Handle handle) const { return entries_[handle].request; }

  // The order. A request enters it once, and leaves it when choose() names it or when it is dropped.
  virtual void enter(Handle handle, Nanos now) = 0;
  virtual Choice choose(Nanos now) = 0;
  virtual void left(Handle handle, Nanos now) = 0;
  // Whether a request that comes back unfinished enters the order again.
  [[nodiscard]] virtual bool orders_again() const { return false; }
  // A request that choose() named is finished, or dropped before it was.
  virtual void ended(Handle /*handle*/, Nanos /*now*/) {}

 private:
  enum class State : std::uint8_t { blocked, entered, in_service, returned };
  // Requests that wait for another are in a list of that one.
  struct Entry {
    QueuedRequest request;
    State state = State::blocked;
    Handle waits_for = kNone;
    Handle next = kNone, previous = kNone;  // in the list of those who wait for the same
    Handle first_waiter = kNone, last_waiter = kNone;
  };

  Handle take_entry(const QueuedRequest& request);
  // Lets it enter, or wait for whoever is in its way.
  void admit(Handle handle, Nanos now);
  void wait_for(Handle handle, Handle other);
  void stop_waiting(Handle handle);
  // It is gone: those who waited for it are admitted.
  void release(Handle handle, Nanos now);
  Decision start(Handle handle, Bytes quantum = Bytes::max());

  std::uint64_t depth_;
  std::vector<Entry> entries_;  // by handle
  std::vector<Handle> free_entries_;
  FlatMap<std::uint64_t, HashOfNumber> index_;  // id to handle
  Claims claims_;
  std::deque<Handle> returned_;  // came back unfinished
  std::size_t entered_ = 0;
  std::size_t in_service_ = 0;
  PolicyCounters counters_;
};

}  // namespace tutti
