// CollectivePlan: who moves which bytes of a collective read or write. Pure.
//
// All ranks give the plan the same facts and get the same arrangement. Without aggregators every rank moves
// its own bytes, all at once or in turns. Otherwise *aggregators* move bytes for all: each goes through its
// rounds, and in a round it moves the bytes of some parts of the file, which it exchanges with the ranks they
// belong to; or, of a read, it only sees to the order in which the servers get them. A plan of another kind is
// one file pair and one line in plans.def.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "layout/layout.h"

namespace tutti {

enum class Toggle : std::uint8_t { automatic, enable, disable };

// What one rank wants.
struct RankFacts {
  Extent bounds;  // from its first to behind its last byte of the file; empty if it has none
  Bytes bytes;
  std::uint64_t runs = 0;  // about how many runs of the file these are
  // How many of the bytes lie on each of the file's servers, by slot of the layout. Empty unless the plan
  // asks for it (CollectivePlan::wants_bytes_by_slot).
  std::vector<Bytes> bytes_by_slot;
};

struct CollectiveFacts {
  bool write = false;
  Layout layout;
  std::span<const RankFacts> ranks;
  Toggle aggregate = Toggle::automatic;  // cb_read or cb_write
  int cb_nodes = 0;                      // 0: the plan's choice
  Bytes cb_buffer_size;
  bool rotational = false;           // the file is on rotating disks
  std::span<const int> aggregators;  // that may be chosen, best first; empty: all ranks
};

// Parts of the file, ascending and not overlapping, at most cb_buffer_size bytes in all. What lies between
// them costs nothing: an aggregator holds the bytes of the parts and no others.
using Round = std::vector<Extent>;

struct Aggregator {
  int rank = 0;
  std::vector<Round> rounds;
};

using Schedule = std::vector<Aggregator>;

// How the bytes of a read come from the servers to the ranks that want them.
enum class ReadForm : std::uint8_t {
  exchange,  // aggregators read, and pass on
  reread,  // aggregators read to the end, all ranks synchronize, then each reads its own: it is in the servers' memory
  prefetch,  // aggregators have the servers fetch, all synchronize when that is queued, then each reads its own
  reread_all,  // as `reread`, but aggregators too read their own once more
};
std::string_view name_of(ReadForm form);

// When a rank may send its first requests: after it has heard from these ranks. Then it tells those.
struct RankTurn {
  std::vector<int> hears;
  std::vector<int> tells;
};

struct Arrangement {
  Schedule aggregators;  // empty: every rank moves its own bytes
  ReadForm reading = ReadForm::exchange;
  std::vector<RankTurn> turns;  // by rank; empty: nobody waits
  bool serialized = false;      // a rank tells the next when it is done, not when it has sent
  Nanos delay;                  // from sending to telling
  std::string reason;           // for the log: what a plan that chooses has predicted and chosen

  // Every rank moves its own bytes when it likes.
  [[nodiscard]] bool own() const { return aggregators.empty() && turns.empty(); }
};

class CollectivePlan {
 public:
  CollectivePlan() = default;
  CollectivePlan(const CollectivePlan&) = delete;
  CollectivePlan& operator=(const CollectivePlan&) = delete;
  virtual ~CollectivePlan() = default;

  // The stable name, with the parameters in effect if there are any.
  [[nodiscard]] virtual std::string name() const = 0;
  // The schedule is empty whatever the ranks want: then they need not tell each other.
  [[nodiscard]] virtual bool always_independent() const { return false; }
  // Whether the ranks may take the next call to be like the last ones, and see only afterwards whether it was: for a plan that is chosen
  // to be fast, not to be followed to the letter.
  [[nodiscard]] virtual bool has_habits() const { return false; }
  // Whether a rank that wants this will most likely be left to move its own bytes, whatever the others want: on devices that do not rotate.
  // `mine` has no bytes by slot. For plans that have habits.
  [[nodiscard]] virtual bool would_be_own(const RankFacts& /*mine*/) const { return false; }
  // Whether schedule() looks at RankFacts::bytes_by_slot, which costs every rank some time to count.
  [[nodiscard]] virtual bool wants_bytes_by_slot() const { return false; }
  // Whether an empty schedule is to be carried out as one call that each server serves in the order of its own disk.
  [[nodiscard]] virtual bool directed() const { return false; }
  [[nodiscard]] virtual Schedule schedule(const CollectiveFacts& facts) const = 0;
  // All that the ranks are to do; the schedule alone unless the plan knows more.
  [[nodiscard]] virtual Arrangement arrange(const CollectiveFacts& facts) const;
};

// From the first to behind the last byte that any rank wants; empty if none wants any.
Extent bounds_of(std::span<const RankFacts> ranks);

std::vector<std::string> collective_plan_names();
// From its name and parameters, "two_phase". Code::invalid for unknown ones, with those that are known.
Result<std::unique_ptr<CollectivePlan>> make_collective_plan(std::string_view text);

}  // namespace tutti
