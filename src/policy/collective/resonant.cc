#include "policy/collective/resonant.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "policy/collective/registry.h"
#include "policy/collective/stripes.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"reading", "timing", "group", "agents", "blocking", "delay"};
constexpr std::array<std::string_view, 4> kForms = {"exchange", "reread", "prefetch", "reread_all"};
constexpr std::array<std::string_view, 2> kTiming = {"auto", "never"};
constexpr std::string_view kServers = "servers";

Result<std::unique_ptr<CollectivePlan>> make(const Parameters& parameters) {
  ResonantOptions options;
  const auto form = parameters.choice("reading", 0, kForms);
  if (!form.ok()) return form.status();
  options.reading = static_cast<ReadForm>(*form);
  const auto timing = parameters.choice("timing", 0, kTiming);
  if (!timing.ok()) return timing.status();
  options.timing = *timing == 0;
  options.group_of_servers = parameters.text("group", "") == kServers;
  if (!options.group_of_servers) {
    const auto groups = parameters.number("group", 0, 0, 1'000'000);
    if (!groups.ok()) return groups.status();
    options.groups = *groups;
  }
  const auto agents = parameters.number("agents", 0, 0, 1024);
  if (!agents.ok()) return agents.status();
  options.agents = *agents;
  const auto blocking = parameters.number("blocking", 0, 0, 1);
  if (!blocking.ok()) return blocking.status();
  options.blocking = *blocking == 1;
  const auto delay = parameters.number("delay", 200, 0, 1'000'000);  // in microseconds
  if (!delay.ok()) return delay.status();
  options.delay = 1_us * static_cast<std::int64_t>(*delay);
  return std::unique_ptr<CollectivePlan>(std::make_unique<ResonantPlan>(options));
}

Bytes of_slot(const RankFacts& rank, std::size_t slot) {
  return slot < rank.bytes_by_slot.size() ? rank.bytes_by_slot[slot] : 0_B;
}

Bytes sum_of_slot(std::span<const RankFacts> ranks, std::size_t slot) {
  Bytes sum;
  for (const RankFacts& rank : ranks) sum += of_slot(rank, slot);
  return sum;
}

// Sets of things that belong together; who is in which is known by its smallest member.
class Sets {
 public:
  explicit Sets(std::size_t count) : of_(count) { std::iota(of_.begin(), of_.end(), std::size_t{0}); }
  std::size_t of(std::size_t each) {
    while (of_[each] != each) each = of_[each] = of_[of_[each]];
    return each;
  }
  void join(std::size_t a, std::size_t b) {
    a = of(a);
    b = of(b);
    of_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> of_;
};

// Each group hears from all of the one before it; a pair that shares several servers has one word.
void chain(std::span<const int> ranks, std::size_t group, std::vector<RankTurn>& turns) {
  for (std::size_t i = group; i < ranks.size(); ++i) {
    const std::size_t before = i / group * group - group;
    for (std::size_t j = before; j < before + group; ++j) {
      std::vector<int>& hears = turns[static_cast<std::size_t>(ranks[i])].hears;
      if (std::find(hears.begin(), hears.end(), ranks[j]) != hears.end()) continue;
      hears.push_back(ranks[j]);
      turns[static_cast<std::size_t>(ranks[j])].tells.push_back(ranks[i]);
    }
  }
}

// An agent's bytes: its part of the stripes of its slots.
Schedule deal_stripes(const CollectiveFacts& facts, const AgentsBySlot& agents) {
  const std::vector<Extent> ranges = wanted_ranges(facts.ranks);
  const Layout& layout = facts.layout;
  std::vector<Bytes> in_slot(agents.size());  // of the ranges
  for (const Extent& range : ranges) {
    for (std::uint32_t slot = 0; slot < layout.stripe_count; ++slot)
      in_slot[slot] += layout.object_length(slot, range.end()) - layout.object_length(slot, range.offset);
  }
  std::vector<RoundBuilder> rounds(facts.ranks.size(), RoundBuilder(facts.cb_buffer_size));
  std::vector<Bytes> dealt(agents.size());
  each_stripe(layout.stripe_size, ranges, [&](Extent part) {
    const std::uint32_t slot = layout.slot_of(part.offset);
    const std::vector<int>& of_slot = agents[slot];
    if (of_slot.empty()) return;
    // A stripe goes to one agent: to the one in whose part it begins.
    const std::uint64_t place = of_slot.size() == 1
                                    ? 0
                                    : static_cast<std::uint64_t>(static_cast<double>(dealt[slot].count()) *
                                                                 static_cast<double>(of_slot.size()) /
                                                                 static_cast<double>(in_slot[slot].count()));
    rounds[static_cast<std::size_t>(of_slot[std::min<std::uint64_t>(place, of_slot.size() - 1)])].add(part);
    dealt[slot] += part.length;
  });
  Schedule schedule;
  for (std::size_t rank = 0; rank < rounds.size(); ++rank) {
    if (!rounds[rank].empty()) schedule.push_back({static_cast<int>(rank), rounds[rank].take()});
  }
  return schedule;
}

// Bytes that need not travel: an agent wants them itself.
Bytes kept_by(const AgentsBySlot& agents, std::span<const RankFacts> ranks) {
  Bytes kept;
  for (std::size_t slot = 0; slot < agents.size(); ++slot) {
    for (const int agent : agents[slot]) kept += of_slot(ranks[static_cast<std::size_t>(agent)], slot);
  }
  return kept;
}

// Of ranks that follow each other: whether there is more between them than they want.
bool lie_apart(std::span<const RankFacts> ranks) {
  Bytes spans;
  for (const RankFacts& rank : ranks) spans += rank.bounds.length;
  return bounds_of(ranks).length > spans * 2;
}

std::size_t agents_of_each(const CollectiveFacts& facts, std::uint64_t asked) {
  const std::size_t slots = facts.layout.stripe_count;
  const std::size_t most = std::max<std::size_t>(1, candidates(facts).size() / slots);
  if (asked > 0) return std::min<std::size_t>(asked, most);
  Bytes bytes;
  for (const RankFacts& rank : facts.ranks) bytes += rank.bytes;
  const bool many = facts.ranks.size() >= ResonantPlan::kManyRanks * slots;
  return many && bytes >= ResonantPlan::kMuchData * slots ? std::min<std::size_t>(most, 4) : 1;
}

}  // namespace

constinit const Registration<CollectivePlan> collective_plans::resonant = {"resonant", kParameters, make};

bool follow_each_other(std::span<const RankFacts> ranks) {
  Bytes end;
  for (const RankFacts& rank : ranks) {
    if (rank.bytes == 0_B) continue;
    if (rank.bounds.offset < end) return false;
    end = rank.bounds.end();
  }
  return true;
}

AgentsBySlot choose_agents(const CollectiveFacts& facts, std::size_t of_each) {
  const std::size_t slots = facts.layout.stripe_count;
  const std::vector<int> may = candidates(facts);
  std::size_t agents = std::min(may.size(), slots * of_each);
  if (facts.cb_nodes > 0) agents = std::min(agents, static_cast<std::size_t>(facts.cb_nodes));
  const std::size_t most = (slots * of_each + agents - 1) / agents;  // parts of one agent
  std::vector<std::size_t> parts(facts.ranks.size());
  std::size_t chosen = 0;
  AgentsBySlot by_slot(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (sum_of_slot(facts.ranks, slot) == 0_B) continue;
    for (std::size_t part = 0; part < of_each; ++part) {
      int best = -1;
      for (const int rank : may) {
        const std::size_t has = parts[static_cast<std::size_t>(rank)];
        if (has >= most || (has == 0 && chosen == agents)) continue;
        const auto& of = by_slot[slot];
        if (std::find(of.begin(), of.end(), rank) != of.end()) continue;
        const auto wants = [&](int who) { return of_slot(facts.ranks[static_cast<std::size_t>(who)], slot); };
        if (best < 0 || wants(rank) > wants(best)) best = rank;
      }
      if (best < 0) break;
      if (parts[static_cast<std::size_t>(best)]++ == 0) ++chosen;
      by_slot[slot].push_back(best);
    }
    // One order for all servers: whoever waits, waits for a lower rank, so nobody waits in a circle.
    std::sort(by_slot[slot].begin(), by_slot[slot].end());
  }
  // Server by server the best is taken away from later ones: no more is to travel than if servers were dealt in turn.
  if (of_each > 1) return by_slot;
  AgentsBySlot in_turn(slots);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (!by_slot[slot].empty()) in_turn[slot].push_back(may[slot % agents]);
  }
  return kept_by(in_turn, facts.ranks) > kept_by(by_slot, facts.ranks) ? in_turn : by_slot;
}

std::string ResonantPlan::name() const {
  std::string name = "resonant";
  if (options_.reading != ReadForm::exchange) name += fmt::format(";reading={}", name_of(options_.reading));
  if (!options_.timing) name += ";timing=never";
  if (options_.groups > 0) name += fmt::format(";group={}", options_.groups);
  if (options_.group_of_servers) name += fmt::format(";group={}", kServers);
  if (options_.agents > 0) name += fmt::format(";agents={}", options_.agents);
  if (options_.blocking) name += ";blocking=1";
  if (options_.delay != 200_us) name += fmt::format(";delay={}", options_.delay.count() / 1000);
  return name;
}

std::vector<RankTurn> ResonantPlan::turns_of_sets(const CollectiveFacts& facts) const {
  const std::size_t ranks = facts.ranks.size();
  const std::size_t slots = facts.layout.stripe_count;
  Sets sets(ranks + slots);  // ranks, then slots
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
      if (of_slot(facts.ranks[rank], slot) > 0_B) sets.join(rank, ranks + slot);
    }
  }
  std::vector<std::vector<int>> members(ranks);
  std::vector<std::size_t> servers(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (facts.ranks[rank].bytes > 0_B) members[sets.of(rank)].push_back(static_cast<int>(rank));
  }
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (const std::size_t set = sets.of(ranks + slot); set < ranks) ++servers[set];
  }
  std::vector<RankTurn> turns(ranks);
  bool any = false;
  for (std::size_t set = 0; set < ranks; ++set) {
    if (members[set].size() < 2) continue;
    const std::size_t of_set = std::max<std::size_t>(1, servers[set]);
    std::size_t size = (members[set].size() + of_set - 1) / of_set;
    if (options_.groups > 0) size = options_.groups;
    if (options_.group_of_servers) size = of_set;
    any = any || members[set].size() > size;
    chain(members[set], size, turns);
  }
  if (!any) turns.clear();
  return turns;
}

Arrangement ResonantPlan::arrange(const CollectiveFacts& facts) const {
  Arrangement arrangement;
  arrangement.serialized = options_.blocking;
  arrangement.delay = options_.blocking ? Nanos() : options_.delay;
  if (facts.aggregate == Toggle::disable || bounds_of(facts.ranks).length == 0_B) return arrangement;
  if (options_.timing && follow_each_other(facts.ranks)) {
    // Servers take writes into memory in any order, and write them back in that of the disk: who waits only loses time.
    // Where the transport blocks, the paper's letter holds for writes too.
    // Nor does order help where ranks lie far apart: the heads jump between them anyway, and know a shorter way.
    if (options_.blocking || (!facts.write && !lie_apart(facts.ranks)))
      arrangement.turns = turns_of_sets(facts);
    return arrangement;
  }
  const AgentsBySlot agents = choose_agents(facts, agents_of_each(facts, options_.agents));
  arrangement.aggregators = deal_stripes(facts, agents);
  if (!facts.write) arrangement.reading = options_.reading;
  const bool several =
      std::any_of(agents.begin(), agents.end(), [](const auto& of) { return of.size() > 1; });
  if (!several) return arrangement;
  arrangement.turns.resize(facts.ranks.size());
  for (const std::vector<int>& of_slot : agents) chain(of_slot, 1, arrangement.turns);
  return arrangement;
}

}  // namespace tutti
