// resonant: every server is asked by one rank, in ascending order. After "Resonant I/O", the paper on collective I/O that
// knows the striping.
//
// Two-phase I/O gives each aggregator a contiguous part of the file, so every server hears from all of them, in an order
// that chance decides, and its disk seeks. Here the order is made, in one of two ways:
//
//  - Timing. If all that rank i wants lies before all that rank i + 1 wants, everybody moves his own bytes. Ranks that read and
//    share servers form a set; a set is cut into groups, in order of rank, and a group sends when the one before it has
//    sent. The paper's text has as many groups as the set has servers, its formula (k = i/n) as many ranks in a group: the
//    first is the default, since ranks that send at once come in any order; the second, `group=servers`, is what its
//    figure 12 must have had: with the first, 16 ranks on 16 servers would be served one after the other.
//  - Agents. Otherwise each server gets an agent: the rank that wants most of its bytes and is no agent yet, the lowest of
//    those on a tie; or ranks in turn, where less travels then. With fewer ranks than servers a rank is the agent of several. With many more ranks than servers and
//    much data a server has several agents, each for a part of its bytes, and these take turns.
//
// A server that only one rank wants anything from needs neither: it resonates by itself.
#pragma once

#include "policy/collective/plan.h"

namespace tutti {

struct ResonantOptions {
  ReadForm reading = ReadForm::exchange;
  bool timing = true;             // false: agents also where timing would do
  std::uint64_t groups = 0;       // ranks in a group; 0: so many that a set has as many groups as servers
  bool group_of_servers = false;  // as many ranks in a group as the set has servers
  std::uint64_t agents = 0;       // of a server; 0: by the number of ranks and bytes
  bool blocking = false;  // where requests cannot be under way: groups one after the other, each to its end
  Nanos delay = 200_us;   // from sending to telling the next group
};

// Whether all that a rank wants lies before all that the next one wants.
bool follow_each_other(std::span<const RankFacts> ranks);

// The agents of each slot, in the order of the parts of its bytes; none of a slot without bytes.
using AgentsBySlot = std::vector<std::vector<int>>;
AgentsBySlot choose_agents(const CollectiveFacts& facts, std::size_t of_each);

class ResonantPlan : public CollectivePlan {
 public:
  explicit ResonantPlan(ResonantOptions options = {}) : options_(options) {}

  // Ranks that far outnumber servers, and data that is worth several agents of a server.
  static constexpr std::size_t kManyRanks = 4;  // times the servers
  static constexpr Bytes kMuchData = 64_MiB;    // on a server

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] bool wants_bytes_by_slot() const override { return true; }
  [[nodiscard]] Schedule schedule(const CollectiveFacts& facts) const override {
    return arrange(facts).aggregators;
  }
  [[nodiscard]] Arrangement arrange(const CollectiveFacts& facts) const override;

 private:
  [[nodiscard]] std::vector<RankTurn> turns_of_sets(const CollectiveFacts& facts) const;

  ResonantOptions options_;
};

}  // namespace tutti
