// visit: which client of a group a server serves next, so that the servers of a file do not all turn to the same one.
//
// Source: F. Isaila, D. Singh, J. Carretero, F. Garcia, "On Evaluating Decentralized Parallel I/O Scheduling Strategies for
// Parallel File Systems", section 6: for writing the clients decide which server they visit, for reading the servers decide
// "in a similar way". Clients say which of how many they are (QueuedRequest::rank, ranks), and which server of the file this
// one is (slot).
//
// Those who asked on behalf of one application for one object are a group; the group of the oldest request is served. Large
// requests are served block by block, and after each block the order decides again:
//   hash    at step j server s serves rank (s - j) mod n, or the next one in that order that has asked: while all have asked,
//           no two servers serve the same client at the same step
//   first   at step j rank j mod n, on all servers the same, or the next one that has asked
//   random  anybody, drawn
// A server that is idle serves whoever comes first, as the paper's does. Clients without a rank count as rank 0, in the order
// in which they came.
//
// Parameters: order (hash), block (64 KiB), dispatch_depth (16; 1 is the paper), seed of the draw (1).
// Cost: O(log requests).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "policy/request/guarded_policy.h"

namespace tutti {

class VisitPolicy : public GuardedPolicy {
 public:
  enum class Order : std::uint8_t { hash, first, random };
  VisitPolicy(Order order, Bytes block, std::uint64_t dispatch_depth, std::uint64_t seed)
      : GuardedPolicy(dispatch_depth), order_(order), block_(block), seed_(seed), random_(seed) {}
  [[nodiscard]] std::string name() const override;

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;  // what the order goes by, and the request's id
  using GroupName = std::tuple<std::uint64_t, std::uint64_t, bool>;  // application, object, write
  struct Group {
    std::map<Place, Handle> waiting;
    std::uint64_t step = 0;
    std::size_t members = 0;  // waiting or in service
  };

  void enter(Handle handle, Nanos now) override;
  Choice choose(Nanos now) override;
  void left(Handle handle, Nanos now) override;
  void ended(Handle handle, Nanos now) override;
  [[nodiscard]] bool orders_again() const override { return true; }

  static GroupName group_of(const QueuedRequest& request);
  [[nodiscard]] std::map<Place, Handle>::iterator turn(Group& group) const;
  void take_out(Handle handle);
  void member_gone(const GroupName& name);

  Order order_;
  Bytes block_;
  std::uint64_t seed_;
  Random random_;
  std::map<GroupName, Group> groups_;
  std::set<std::pair<std::uint64_t, GroupName>> oldest_;  // all that wait, by id
  std::vector<Place> places_;                             // by handle
  std::vector<bool> known_;                               // by handle: counted as a member
};

}  // namespace tutti
