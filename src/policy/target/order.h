// TargetOrder: in which order a client visits the servers of one transfer. Pure.
//
// A transfer has a share on each of its servers, its targets, and each share is cut into pieces of at most one schedule
// block. Whenever a piece may be sent, the order is asked whose piece it is; within a target pieces go in the order of the
// file. An order may also say that nothing more is to be sent before a piece has landed. One more order is one file and one
// line in orders.def.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "base/units.h"

namespace tutti {

// The part of a transfer that falls on one server, and how far it has come.
struct Target {
  std::uint32_t slot = 0;    // the server's place in the file's striping: 0 to VisitFacts::servers - 1
  std::uint32_t server = 0;  // its number in the cluster
  std::uint32_t left = 0;    // pieces that are not sent yet
  std::uint32_t sent = 0;    // that are
  std::uint32_t in_flight = 0;
  bool open = false;  // has a piece left, and may have one more in flight
  Bytes share;        // of all its pieces
  Bytes bytes_left;   // of the pieces that are not sent yet
  Bytes next;         // of the next piece: its length
  Bytes offset;       // and where in the file it begins
  // What the server said last: how long it needs for what it has, less the time since. Unknown until it has answered.
  bool known = false;
  Nanos wait;
  Nanos service;  // how long it takes for a piece of this transfer, by its last answers
};

// Whose transfer it is, and of what.
struct VisitFacts {
  std::uint64_t application = 0;
  std::uint64_t client = 0;
  std::uint64_t file = 0;
  bool write = false;
  bool rotational = false;     // servers of the file have rotating disks
  std::uint32_t servers = 1;   // of the file
  std::uint32_t rank = 0;      // of the client among `ranks`, dense
  std::uint32_t ranks = 0;     // 0: the client has no rank
  std::uint64_t chance = 0;    // drawn for the client: where those without a rank begin
  std::uint64_t transfer = 0;  // counts those of the client
};

// What an order remembers of one transfer.
struct VisitState {
  std::uint64_t step = 0;
  std::optional<Random> random;
  Bytes in_flight;           // in all; kept by the sender
  std::uint32_t pieces = 0;  // in flight; kept by the sender
};

class TargetOrder {
 public:
  TargetOrder() = default;
  TargetOrder(const TargetOrder&) = delete;
  TargetOrder& operator=(const TargetOrder&) = delete;
  virtual ~TargetOrder() = default;

  // The stable name with the parameters in effect. Results record it.
  [[nodiscard]] virtual std::string name() const = 0;
  // The target whose next piece is sent now, one that is open; there is at least one. Targets come in the order of first
  // touch. Nothing: not before a piece has landed; never said while nothing is in flight.
  virtual std::optional<std::size_t> next(std::span<const Target> targets, const VisitFacts& facts,
                                          VisitState& state) const = 0;
};

extern const std::string_view kDefaultTargetOrder;
// Of a schedule block.
inline constexpr Bytes kLeastBlock = 4_KiB;
inline constexpr Bytes kMostBlock = 8_MiB;
inline constexpr std::uint64_t kMostInFlight = 16;

// Where a client begins: at the server of its rank, without one at a server drawn for it.
inline std::uint64_t first_slot(const VisitFacts& facts) {
  return (facts.ranks > 0 ? facts.rank : facts.chance) % facts.servers;
}
// How many servers after the one where the client begins this one comes.
inline std::uint64_t steps_from_start(const VisitFacts& facts, std::uint32_t slot) {
  return (slot + facts.servers - first_slot(facts)) % facts.servers;
}

std::vector<std::string> target_order_names();
// From "name;key=value". Code::invalid, with what is known, for unknown names, keys and values.
Result<std::unique_ptr<TargetOrder>> make_target_order(std::string_view text);

}  // namespace tutti
