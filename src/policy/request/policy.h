// RequestPolicy: decides in which order a data server serves requests. Pure.
//
// A policy is told of events and asked next(now). It never sleeps, locks, reads a clock or does I/O, and
// knows requests only by what stands in QueuedRequest. A policy may serve whole requests or hand out quanta:
// a request that is not finished after its quantum is queued again by the policy itself when served() tells
// so.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/extent.h"
#include "base/status.h"
#include "base/units.h"
#include "policy/request/advice.h"

namespace tutti {

struct QueuedRequest {
  std::uint64_t id = 0;  // given by the server, ascending in order of arrival
  std::uint64_t application = 0;
  Nanos request_time;  // wall time: the client's word, clamped by the server
  Nanos arrival;       // wall time of the server when it came
  std::uint64_t client = 0;
  std::uint64_t sequence = 0;
  std::uint32_t user = 0;  // the uid that the transport vouches for
  std::uint64_t object = 0;
  Bytes offset;  // in the object; its extents may lie apart, from here
  Bytes end;     // to here
  Bytes length;  // in all
  bool write = false;
  // The extents, ascending and apart, if they are known: alive as long as the policy has the request. Empty: all from
  // offset to end counts as touched.
  std::span<const Extent> extents;
  // What the client says its most loaded server has to move: of this operation, or of the whole burst of the
  // application; the same on all servers. 0: unknown.
  Bytes bottleneck;
  // Of a client that has a rank: which of its group of `ranks` it is, and which of the file's servers this one is.
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;  // 0: it has none
  std::uint32_t slot = 0;
  std::uint32_t servers = 0;
};

struct Decision {
  enum class Kind : std::uint8_t { dispatch, wait, idle };
  Kind kind = Kind::idle;
  std::uint64_t id = 0;          // dispatch: this request
  Bytes quantum = Bytes::max();  // dispatch: at most so many bytes of it
  Nanos until;                   // wait: ask again at this time, or when something happens

  static Decision dispatch(std::uint64_t id, Bytes quantum = Bytes::max()) {
    return {Kind::dispatch, id, quantum, Nanos()};
  }
  static Decision wait(Nanos until) { return {Kind::wait, 0, Bytes(), until}; }
  static Decision idle() { return {}; }
};

// What a policy counted, for status and experiments. Zero where it does not apply.
struct PolicyCounters {
  std::uint64_t dispatches = 0;  // turns, also those without bytes
  std::uint64_t crossovers = 0;  // dispatches during whose service a request of higher rank arrived
  Nanos interval;                // of the time window at present
  std::uint64_t switches = 0;    // from one time slice to another
  Nanos drain, longest_drain;    // what was in service at a switch ended so much later, in sum and at most
  std::uint64_t filled = 0;      // dispatches in a slice of somebody else who had nothing to do here
};

// Service in a time slice of one's own.
struct Dedicated {
  Nanos since;        // the slice began then
  bool rest = false;  // it is that of all who have none of their own
};

class RequestPolicy {
 public:
  RequestPolicy() = default;
  RequestPolicy(const RequestPolicy&) = delete;
  RequestPolicy& operator=(const RequestPolicy&) = delete;
  virtual ~RequestPolicy() = default;

  // The stable name with the parameters in effect: "fcfs;dispatch_depth=16". Results record it.
  [[nodiscard]] virtual std::string name() const = 0;

  // `now` is the server's steady clock in all calls.
  virtual void add(const QueuedRequest& request, Nanos now) = 0;
  // Asked again and again until it answers wait or idle.
  virtual Decision next(Nanos now) = 0;
  // A dispatched request got `bytes`; it is finished, or to be queued again for the rest.
  virtual void served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) = 0;
  // A queued request is gone (its client is). Never called for a dispatched one: that is served() first.
  virtual void drop(std::uint64_t id, Nanos now) = 0;
  // What the cluster's coordinator advises from now on, instead of what it advised before. Most policies need none.
  virtual void advise(const Advice& /*advice*/, Nanos /*now*/) {}
  // Whether a request of this application that is started now has a slice of its own; nothing if all are served alike.
  [[nodiscard]] virtual std::optional<Dedicated> dedicated(std::uint64_t /*application*/,
                                                           Nanos /*now*/) const {
    return {};
  }
  // Blocks of this size are fetched ahead of programs that read forward (forward_reads.h); 0: none.
  [[nodiscard]] virtual Bytes ahead() const { return {}; }
  [[nodiscard]] virtual std::size_t queued() const = 0;
  [[nodiscard]] virtual PolicyCounters counters() const { return {}; }
};

// Makes a policy from its name and parameters, "fcfs;dispatch_depth=8". Unknown names and parameters are
// errors that list the known ones.
Result<std::unique_ptr<RequestPolicy>> make_request_policy(std::string_view text);
// The names that make_request_policy knows.
std::vector<std::string> request_policy_names();

}  // namespace tutti
