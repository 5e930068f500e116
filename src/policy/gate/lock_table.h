// LockTable: who may write to which servers, and who waits. The gate's lock service without its messages. Pure.
//
// A *resource* is a server, or a whole mount where nothing better is known. A job *asks* (REQ) for a set of resources, is
// *granted* all of them at once or none (ACK), and *releases* them (REL). At most k jobs hold a resource; k is 1 unless set or
// learned. A job never waits while it holds: what it then cannot have at once it *passes*, that is, it goes on without a
// grant, and is counted.
//
// Order. With `preserve_order` nobody overtakes in any queue that he shares: a demand is granted when each of its resources has
// fewer than k holders and nobody waits before it at any of them. Without, a demand is granted as soon as its resources
// have fewer than k holders each, in the order of asking among those; one that was overtaken for `most_blocked` passes.
// With `Order::learned` (the default gate) see holders.h: k follows from what was measured, the smallest go first, and nobody waits
// who does no good by it or cannot afford it.
//
// A demand for resources *alone* is granted when nobody holds any of them, and nobody is let in beside it. Such demands go first,
// in the order of asking: with Order::learned they are the plain lock of those who want it.
//
// Joins. Several processes of one job may ask for the same: an ask whose resources are all among those of a living demand of
// the same job joins it and shares its fate. The demand ends when all who joined have released.
//
// Leases. A demand lives for `lease` after its job was last heard of (asked, renewed, reasserted), on the clock of whoever
// calls. A holder that is silent for longer loses its grant, one that waits loses its place. Holders must reckon from the moment
// at which they *sent* the renewal. Each grant has a fencing number, higher than all before it on any resource; a pass has none (0).
//
// Restart. take_changes() names the demands to be stored; restore() takes them back in any order of keys and keeps the order of
// asking. For the grace that follows nothing is granted: holders and waiters are heard of (renew, ask with the same name,
// reassert for what was not stored), and what is not heard of in that time is lost.
//
// Calls are idempotent by AskName, so that messages may be repeated. Time goes forward; a `now` before an earlier one counts
// as that one. No call sleeps, throws or does I/O. Not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "policy/gate/holders.h"

namespace tutti::gate {

using Resource = std::string;

// An ask of a job, by a number that the asker chose; new for each ask, the same when it is repeated.
struct AskName {
  std::uint64_t job = 0;
  std::uint64_t number = 0;
  auto operator<=>(const AskName&) const = default;
};

struct Ask {
  AskName name;
  std::vector<Resource> resources;  // at least one; order and repetition do not matter
  Bytes expected = {};              // what will be written, 0 if not known: only Order::learned looks at it
  bool alone = false;               // nobody beside it, whatever k is
};

enum class Order : std::uint8_t { preserved, overtaking, learned };

struct LockOptions {
  Order order = Order::learned;
  std::uint32_t holders = 1;          // k of a resource until set_holders(); not with Order::learned
  Nanos most_blocked = Nanos::max();  // who has waited so long passes
  Nanos lease = 10_s;
  Nanos grace = 10_s;  // after restore()
};

enum class Standing : std::uint8_t {
  waiting,
  granted,
  passed,  // goes on without a grant
  gone,    // not known: released, lost, or never asked
};

// Why a demand passed.
enum class PassReason : std::uint8_t { none, blocked, holding };

struct Answer {
  Standing standing = Standing::gone;
  PassReason reason = PassReason::none;
  std::uint64_t fence = 0;  // of a grant
  Nanos expiry;             // the demand lives until then, unless renewed
};

// What became of an ask other than by its own call.
struct Decision {
  AskName name;
  Answer answer;  // gone: the lease is over; `fence` is then that of the lost grant, 0 for one that waited
};

// The lock of one resource, as the paper draws it. `error`: its last holder did not give it back, or somebody released what he
// did not hold; until the next grant.
enum class LockState : std::uint8_t { idle, active, error };

// What is stored of a demand, under `sequence`; sequences ascend in the order of asking.
struct LockRecord {
  std::uint64_t sequence = 0;
  std::uint64_t job = 0;
  std::vector<std::uint64_t> numbers;  // of the asks that joined
  std::vector<Resource> resources;
  Standing standing = Standing::waiting;
  PassReason reason = PassReason::none;
  std::uint64_t fence = 0;
  std::uint32_t holders = 1;  // k when it was granted: the least over its resources
  Bytes expected = {};
  bool alone = false;
  bool operator==(const LockRecord&) const = default;
};

struct LockChange {
  std::uint64_t sequence = 0;
  std::optional<LockRecord> record;  // nothing: to be removed
};

// Since the table was made.
struct LockCounters {
  std::uint64_t asked = 0;
  std::uint64_t joined = 0;
  std::uint64_t granted = 0;
  std::uint64_t released = 0;
  std::uint64_t passed_blocked = 0;
  std::uint64_t passed_holding = 0;
  std::uint64_t lost = 0;       // grants whose lease ended
  std::uint64_t forgotten = 0;  // demands that waited or passed, whose lease ended
  std::uint64_t reasserted = 0;
  std::uint64_t errors = 0;  // releases of what was not held
};

class LockTable {
 public:
  explicit LockTable(LockOptions options);

  // Fencing numbers from `first` to before `end` may be given out; the caller has seen to it that no later table gets them.
  // Without numbers nothing is granted.
  void reserve(std::uint64_t first, std::uint64_t end);
  // Numbers that are left.
  [[nodiscard]] std::uint64_t fences_left() const { return fence_end_ - next_fence_; }

  // Before anything else. Records that make no sense (no resource, a name twice) are left out.
  void restore(std::span<const LockRecord> records, Nanos now);
  [[nodiscard]] bool in_grace() const { return grace_open_; }

  // REQ. The answer stands as of now; while it is `waiting`, take_decisions() names the ask later. Asking again with a name that
  // is known shows life and tells where it stands. With no resource: gone.
  Answer ask(const Ask& ask, Nanos now);
  // A holder says, after a restart, what it holds. Ok if it holds it now. Code::stale if it has lost it: to somebody with a higher
  // number, or because the grace is over and the table does not know of it.
  Status reassert(const Ask& ask, std::uint64_t fence, Nanos now);
  // REL, or giving up an ask that waits. `written` is what this process wrote under the grant. Code::stale if the grant was lost
  // before, Code::not_found if there is no such ask; both count as errors, and put `claimed` into state error.
  Status release(AskName name, Bytes written, Nanos now, std::span<const Resource> claimed = {});
  // The job lives. False if it has no demand here.
  bool renew(std::uint64_t job, Nanos now);
  // The job has ended: all of its demands end as if released. Not an error if there is none.
  void leave(std::uint64_t job, Nanos now);
  // Other k; at least 1. Holders above it keep what they have.
  void set_holders(const Resource& resource, std::uint32_t holders, Nanos now);

  // Ends what is due: leases, waiting that reached its limit, the grace. The other calls do so too.
  void advance(Nanos now);
  // When advance() has something to do next; Nanos::max() if never.
  [[nodiscard]] Nanos next() const;

  // What became of asks since the last call, in order: grants, passes, losses. Call after every other call.
  [[nodiscard]] std::vector<Decision> take_decisions();
  // Demands that changed since the last call, by sequence. A renewal is no change.
  [[nodiscard]] std::vector<LockChange> take_changes();

  [[nodiscard]] Answer answer(AskName name) const;
  [[nodiscard]] LockState state(const Resource& resource) const;
  // k.
  [[nodiscard]] std::uint32_t holders(const Resource& resource) const;
  // All demands, in the order of asking.
  [[nodiscard]] std::vector<LockRecord> records() const;
  // Resources that are known, ascending.
  [[nodiscard]] std::vector<Resource> resources() const;
  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  [[nodiscard]] const LockCounters& counters() const { return counters_; }
  // What was learned of a resource; null if nothing is known of it.
  [[nodiscard]] const Holders* learned(const Resource& resource) const;

 private:
  struct Demand {
    std::uint64_t job = 0;
    std::set<std::uint64_t> numbers;
    std::vector<Resource> resources;  // ascending, each once
    Standing standing = Standing::waiting;
    PassReason reason = PassReason::none;
    std::uint64_t fence = 0;
    std::uint32_t holders = 1;
    Nanos expiry;
    Nanos asked;
    Bytes expected;
    Bytes written;  // by those who have released
    bool alone = false;
    // Order::learned, while it waits.
    Nanos review;
    std::optional<double> at_once;  // seconds that it would have taken had it begun when it asked
  };
  using Demands = std::map<std::uint64_t, Demand>;  // by sequence
  // In a queue: by asking, with Order::learned by size, after those who want it alone.
  struct Place {
    double tag = 0;
    std::uint64_t sequence = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Line {
    std::set<std::uint64_t> held;  // sequences
    std::set<Place> waiting;
    std::uint32_t holders = 1;
    bool error = false;
    Holders learned;
  };
  struct Lost {
    AskName name;
    std::uint64_t fence = 0;
  };

  void tick(Nanos now);
  [[nodiscard]] Answer answer_of(const Demand& demand) const;
  [[nodiscard]] std::uint64_t covering(std::uint64_t job, const std::vector<Resource>& resources) const;
  [[nodiscard]] bool holds(std::uint64_t job) const;
  Demand& add(std::uint64_t sequence, Demand demand);
  void touch(std::uint64_t sequence, Demand& demand);
  void tell(const Demand& demand);
  // Grants what may be granted of those who wait at these resources, and further ones that follow from that.
  void settle(const std::vector<Resource>& resources);
  // Order::learned: lets it write beside the holders if waiting does not pay.
  void review(std::uint64_t sequence);
  void review_first(const std::vector<Resource>& resources);
  [[nodiscard]] Place place(const Line& line, std::uint64_t sequence, const Demand& demand) const;
  bool make_room(const std::vector<Resource>& resources, std::uint64_t fence, bool alone);
  // Whether it has to wait for somebody because one of them wants a resource alone.
  [[nodiscard]] bool kept_apart(std::uint64_t sequence, const Demand& demand) const;
  [[nodiscard]] bool held_alone(const Line& line) const;
  void forget(AskName name);
  [[nodiscard]] bool admissible(std::uint64_t sequence, const Demand& demand) const;
  void grant(std::uint64_t sequence, Demand& demand);
  void pass(std::uint64_t sequence, Demand& demand, PassReason reason);
  void pass_others(std::uint64_t job);
  void unqueue(std::uint64_t sequence, const Demand& demand);
  // Ends a demand, whatever it was, and settles.
  void remove(std::uint64_t sequence, Bytes written, bool lost);
  [[nodiscard]] std::uint32_t limit(const Line& line) const;
  Line& line(const Resource& resource);
  bool pays_to_wait(std::uint64_t sequence, Demand& demand) const;

  LockOptions options_;
  Nanos now_;
  Nanos grace_end_;
  bool grace_open_ = false;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t next_fence_ = 0;
  std::uint64_t fence_end_ = 0;
  std::uint64_t old_fences_ = 0;  // numbers below were given out before the restart
  Demands demands_;
  std::map<AskName, std::uint64_t> by_name_;
  std::map<std::uint64_t, std::set<std::uint64_t>> by_job_;  // sequences
  std::map<Resource, Line> lines_;
  std::set<std::pair<Nanos, std::uint64_t>> leases_;   // expiry of each demand
  std::set<std::pair<Nanos, std::uint64_t>> limits_;   // of those that wait
  std::set<std::pair<Nanos, std::uint64_t>> reviews_;  // Order::learned: when waiting may cease to pay
  std::size_t waiting_ = 0;
  std::deque<Lost> lost_;  // lately, the oldest first
  std::set<std::uint64_t> changed_;
  std::vector<Decision> decisions_;
  LockCounters counters_;
};

}  // namespace tutti::gate
