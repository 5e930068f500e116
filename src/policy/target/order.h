// TargetOrder: in which order a client visits the servers of one transfer. Pure.
//
// A transfer has a share on each of its servers, its targets. An order puts the targets into the sequence in which
// they are visited, and says whether their pieces alternate (one piece of each in turn, so that all servers have work
// from the start) or one target is finished before the next is begun. An order of another kind is one file pair and
// one line in orders.def.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

// The part of a transfer that falls on one server.
struct Target {
  std::uint32_t share = 0;   // which part: counted in order of first touch
  std::uint32_t server = 0;  // its number in the cluster
  Bytes length;
};

// Whose transfer it is.
struct VisitFacts {
  std::uint64_t application = 0;
  std::uint64_t client = 0;
  std::uint64_t file = 0;
  bool write = false;
};

class TargetOrder {
 public:
  TargetOrder() = default;
  TargetOrder(const TargetOrder&) = delete;
  TargetOrder& operator=(const TargetOrder&) = delete;
  virtual ~TargetOrder() = default;

  // The stable name. Results record it.
  [[nodiscard]] virtual std::string name() const = 0;
  // Puts the targets, which come in order of first touch, into the order of visiting. Never called for a single one.
  virtual void arrange(std::span<Target> targets, const VisitFacts& facts) const = 0;
  // Whether pieces of different targets alternate.
  [[nodiscard]] virtual bool alternates() const = 0;
};

inline constexpr std::string_view kDefaultTargetOrder = "alternate";

std::vector<std::string> target_order_names();
// From "name;key=value". Code::invalid, with what is known, for unknown names, keys and values.
Result<std::unique_ptr<TargetOrder>> make_target_order(std::string_view text);

}  // namespace tutti
