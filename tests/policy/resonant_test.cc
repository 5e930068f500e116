// Plans that go by the striping: what holds for any layout, request set and group size.
#include "policy/collective/resonant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "policy/collective/stripes.h"

namespace tutti {
namespace {

// What a rank wants, byte by byte known.
using Wants = std::vector<Extent>;  // ascending

struct Call {
  Layout layout;
  std::vector<Wants> wants;
  std::vector<RankFacts> ranks;
  CollectiveFacts facts;

  void know() {
    ranks.clear();
    for (const Wants& wanted : wants) {
      RankFacts rank;
      rank.bytes_by_slot.resize(layout.stripe_count);
      for (const Extent& extent : wanted) {
        each_stripe(layout.stripe_size, std::span(&extent, 1),
                    [&](Extent part) { rank.bytes_by_slot[layout.slot_of(part.offset)] += part.length; });
        rank.bytes += extent.length;
      }
      rank.runs = wanted.size();
      if (!wanted.empty()) rank.bounds = {wanted.front().offset, wanted.back().end() - wanted.front().offset};
      ranks.push_back(rank);
    }
    facts.layout = layout;
    facts.ranks = ranks;
  }
};

Wants random_wants(Random& random, std::uint64_t from, std::uint64_t span, std::uint64_t pieces) {
  Wants wants;
  std::uint64_t at = from;
  for (std::uint64_t i = 0; i < pieces && at < from + span; ++i) {
    at += random.below(span / pieces + 1);
    const std::uint64_t length = 1 + random.below(span / pieces + 1);
    wants.push_back({Bytes(at), Bytes(length)});
    at += length + 1;
  }
  return wants;
}

Call random_call(Random& random) {
  Call call;
  call.layout.stripe_size = 512_B * (1 + random.below(4));
  call.layout.stripe_count = static_cast<std::uint32_t>(1 + random.below(9));
  call.layout.server_total = call.layout.stripe_count;
  const std::size_t ranks = 1 + random.below(20);
  const bool apart = random.chance(0.4);
  const std::uint64_t span = 1 + random.below(60'000);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (random.chance(0.15)) {
      call.wants.emplace_back();
      continue;
    }
    // Pieces may be a little longer than their share: twice as much room keeps ranks apart.
    call.wants.push_back(
        random_wants(random, apart ? rank * 4 * span : random.below(span), span, 1 + random.below(8)));
  }
  call.facts.cb_buffer_size = Bytes(1 + random.below(20'000));
  call.facts.cb_nodes = random.chance(0.3) ? static_cast<int>(1 + random.below(6)) : 0;
  call.facts.write = random.chance(0.5);
  call.know();
  return call;
}

ResonantOptions random_options(Random& random) {
  ResonantOptions options;
  options.reading = static_cast<ReadForm>(random.below(4));
  options.timing = random.chance(0.7);
  options.groups = random.below(6);
  options.agents = random.below(4);
  options.blocking = random.chance(0.3);
  return options;
}

// When a rank sends, by the words it waits for; fails if they go round in circles.
std::vector<int> levels(const std::vector<RankTurn>& turns) {
  std::vector<int> level(turns.size(), 0);
  for (std::size_t pass = 0; pass <= turns.size(); ++pass) {
    bool changed = false;
    for (std::size_t rank = 0; rank < turns.size(); ++rank) {
      for (const int before : turns[rank].hears) {
        if (level[static_cast<std::size_t>(before)] + 1 > level[rank]) {
          level[rank] = level[static_cast<std::size_t>(before)] + 1;
          changed = true;
        }
      }
    }
    if (!changed) return level;
  }
  ADD_FAILURE() << "ranks wait for each other";
  return level;
}

void words_match(const std::vector<RankTurn>& turns) {
  std::multiset<std::pair<int, int>> heard;
  std::multiset<std::pair<int, int>> told;
  for (std::size_t rank = 0; rank < turns.size(); ++rank) {
    for (const int from : turns[rank].hears) heard.emplace(from, static_cast<int>(rank));
    for (const int to : turns[rank].tells) told.emplace(static_cast<int>(rank), to);
  }
  EXPECT_EQ(heard, told);
  EXPECT_EQ(std::set(heard.begin(), heard.end()).size(), heard.size()) << "one word of each pair";
}

// Without aggregators everybody moves his own: all that can go wrong is the order.
void check_timing(const Call& call, const Arrangement& made, std::uint64_t group) {
  ASSERT_TRUE(follow_each_other(call.ranks));
  if (made.turns.empty()) return;
  words_match(made.turns);
  const std::vector<int> level = levels(made.turns);
  std::map<int, std::size_t> of_level;
  for (std::size_t i = 0; i < call.ranks.size(); ++i) {
    if (call.ranks[i].bytes == 0_B) {
      EXPECT_EQ(level[i], 0) << "a rank without bytes waits for nobody";
    }
    for (std::size_t j = i + 1; j < call.ranks.size(); ++j) {
      for (std::uint32_t slot = 0; slot < call.layout.stripe_count; ++slot) {
        if (call.ranks[i].bytes_by_slot[slot] == 0_B || call.ranks[j].bytes_by_slot[slot] == 0_B) continue;
        EXPECT_LE(level[i], level[j]) << "a server's sequence ascends from group to group";
        if (group == 1) {
          EXPECT_LT(level[i], level[j]);
        }
      }
    }
  }
}

// Every byte that is wanted is in one part of one aggregator.
void check_agents(const Call& call, const Arrangement& made) {
  std::map<Bytes, std::pair<Bytes, int>> parts;
  std::vector<std::vector<std::pair<Bytes, int>>> of_slot(call.layout.stripe_count);
  std::set<int> seen;
  for (const Aggregator& agent : made.aggregators) {
    EXPECT_TRUE(seen.insert(agent.rank).second) << "one entry of a rank";
    ASSERT_LT(static_cast<std::size_t>(agent.rank), call.ranks.size());
    Bytes at;
    for (const Round& round : agent.rounds) {
      ASSERT_FALSE(round.empty());
      Bytes held;
      for (const Extent& part : round) {
        EXPECT_GE(part.offset, at) << "an agent's bytes ascend";
        at = part.end();
        held += part.length;
        EXPECT_TRUE(parts.emplace(part.offset, std::pair(part.end(), agent.rank)).second);
        each_stripe(call.layout.stripe_size, std::span(&part, 1), [&](Extent each) {
          of_slot[call.layout.slot_of(each.offset)].emplace_back(each.offset, agent.rank);
        });
      }
      EXPECT_LE(held, call.facts.cb_buffer_size);
    }
  }
  Bytes end;
  for (const auto& [from, part] : parts) {
    EXPECT_GE(from, end) << "no byte is dealt twice";
    end = part.first;
  }
  for (const Wants& wants : call.wants) {
    for (const Extent& extent : wants) {
      for (Bytes at = extent.offset; at < extent.end();) {
        auto found = parts.upper_bound(at);
        ASSERT_NE(found, parts.begin());
        --found;
        ASSERT_GT(found->second.first, at) << "a byte that is wanted is dealt";
        at = found->second.first;
      }
    }
  }
  if (call.facts.cb_nodes > 0) {
    EXPECT_LE(made.aggregators.size(), static_cast<std::size_t>(call.facts.cb_nodes));
  }
  words_match(made.turns);
  const std::vector<int> level = levels(made.turns);
  for (auto& stripes : of_slot) {
    std::sort(stripes.begin(), stripes.end());
    std::set<int> agents;
    for (std::size_t i = 0; i < stripes.size(); ++i) {
      agents.insert(stripes[i].second);
      if (i == 0 || stripes[i].second == stripes[i - 1].second) continue;
      ASSERT_FALSE(level.empty()) << "several agents of a server take turns";
      EXPECT_LT(level[static_cast<std::size_t>(stripes[i - 1].second)],
                level[static_cast<std::size_t>(stripes[i].second)])
          << "a server's sequence ascends from agent to agent";
    }
  }
}

TEST(Resonant, EveryByteIsDealtOnceAndEveryServersSequenceAscends) {
  Random random(4);
  int timed = 0;
  int dealt = 0;
  for (int i = 0; i < 10'000; ++i) {
    SCOPED_TRACE(i);
    const Call call = random_call(random);
    CollectiveFacts facts = call.facts;
    facts.ranks = call.ranks;
    const ResonantOptions options = random_options(random);
    const Arrangement made = ResonantPlan(options).arrange(facts);
    if (bounds_of(facts.ranks).length == 0_B) {
      EXPECT_TRUE(made.aggregators.empty());
      EXPECT_TRUE(made.turns.empty());
      continue;
    }
    if (made.aggregators.empty()) {
      ++timed;
      check_timing(call, made, options.groups);
    } else {
      ++dealt;
      check_agents(call, made);
      if (facts.write) {
        EXPECT_EQ(made.reading, ReadForm::exchange);
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(timed, 1000);
  EXPECT_GT(dealt, 3000);
}

TEST(TwoPhaseCyclic, EveryByteIsDealtOnce) {
  Random random(5);
  const auto plan = make_collective_plan("two_phase;domains=cyclic");
  ASSERT_TRUE(plan.ok());
  for (int i = 0; i < 2'000; ++i) {
    SCOPED_TRACE(i);
    Call call = random_call(random);
    call.facts.ranks = call.ranks;
    Arrangement made = (*plan)->arrange(call.facts);
    made.turns.clear();
    if (bounds_of(call.ranks).length == 0_B) continue;
    // A server may have several aggregators here: that is what the plan does not see to.
    const std::uint32_t servers = std::exchange(call.layout.stripe_count, 1);
    if (made.aggregators.size() == 1) check_agents(call, made);
    call.layout.stripe_count = servers;
    for (const Aggregator& each : made.aggregators) {
      for (const Round& round : each.rounds) EXPECT_FALSE(round.empty());
    }
    if (HasFailure()) return;
  }
}

// `ranks` ranks with 4 segments each, interleaved: the paper's demonstration.
Call demo(std::size_t ranks, Bytes segment) {
  Call call;
  call.layout = {64_KiB, 4, 0, 4};
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    Wants wants;
    for (std::size_t k = 0; k < 4; ++k) wants.push_back({segment * (k * ranks + rank), segment});
    call.wants.push_back(wants);
  }
  call.facts.cb_buffer_size = 16_MiB;
  call.know();
  return call;
}

TEST(Resonant, AgentOfAServerIsWhoeverWantsMostOfIt) {
  const Call four = demo(4, 64_KiB);
  EXPECT_EQ(choose_agents(four.facts, 1), (AgentsBySlot{{0}, {1}, {2}, {3}}));
  const Call two = demo(2, 128_KiB);
  EXPECT_EQ(choose_agents(two.facts, 1), (AgentsBySlot{{0}, {0}, {1}, {1}})) << "fewer ranks than servers";
  const Call even = demo(4, 256_KiB);
  EXPECT_EQ(choose_agents(even.facts, 1), (AgentsBySlot{{0}, {1}, {2}, {3}})) << "the lowest rank on a tie";
}

TEST(Resonant, NoMoreTravelsThanWithServersDealtInTurn) {
  Random random(11);
  for (int i = 0; i < 2'000; ++i) {
    SCOPED_TRACE(i);
    Call call = random_call(random);
    call.facts.ranks = call.ranks;
    call.facts.cb_nodes = 0;
    const AgentsBySlot agents = choose_agents(call.facts, 1);
    const auto kept = [&](std::size_t slot, std::size_t rank) {
      return call.ranks[rank].bytes_by_slot[slot];
    };
    Bytes ours;
    Bytes in_turn;
    for (std::size_t slot = 0; slot < agents.size(); ++slot) {
      in_turn += kept(slot, slot % std::min(call.ranks.size(), agents.size()));
      for (const int agent : agents[slot]) ours += kept(slot, static_cast<std::size_t>(agent));
    }
    EXPECT_GE(ours, in_turn);
  }
  // The best of the first server is far better for the second.
  Call call;
  call.layout = {512_B, 2, 0, 2};
  call.wants = {{{0_B, 9_B}}, {{9_B, 10_B}, {512_B, 100_B}}};
  call.know();
  call.facts.ranks = call.ranks;
  EXPECT_EQ(choose_agents(call.facts, 1), (AgentsBySlot{{0}, {1}}));
}

TEST(Resonant, WhatResonatesByItselfIsNotMoved) {
  const Call call = demo(4, 64_KiB);
  const Arrangement made = ResonantPlan().arrange(call.facts);
  for (const Aggregator& agent : made.aggregators) {
    for (const Round& round : agent.rounds) {
      for (const Extent& part : round)
        EXPECT_EQ(call.layout.slot_of(part.offset), static_cast<std::uint32_t>(agent.rank));
    }
  }
}

Call in_a_row(std::size_t ranks, Bytes segment, std::uint32_t servers) {
  Call call;
  call.layout = {64_KiB, servers, 0, servers};
  for (std::size_t rank = 0; rank < ranks; ++rank) call.wants.push_back({{segment * rank, segment}});
  call.facts.cb_buffer_size = 16_MiB;
  call.know();
  return call;
}

TEST(Resonant, RanksThatShareServersTakeTurns) {
  EXPECT_TRUE(ResonantPlan().arrange(in_a_row(4, 64_KiB, 4).facts).turns.empty()) << "each has a server";
  const Arrangement two_sets = ResonantPlan().arrange(in_a_row(4, 128_KiB, 4).facts);
  EXPECT_EQ(levels(two_sets.turns), (std::vector<int>{0, 0, 1, 1})) << "0 and 2 share servers, 1 and 3 do";
  const Arrangement all = ResonantPlan().arrange(in_a_row(4, 256_KiB, 4).facts);
  EXPECT_EQ(levels(all.turns), (std::vector<int>{0, 1, 2, 3}));
  const Arrangement many = ResonantPlan().arrange(in_a_row(64, 1_MiB, 16).facts);
  EXPECT_EQ(levels(many.turns)[63], 15) << "as many groups as servers";
  Call apart = in_a_row(4, 256_KiB, 4);
  for (std::size_t rank = 0; rank < 4; ++rank) apart.wants[rank] = {{64_MiB * rank, 256_KiB}};
  apart.know();
  apart.facts.ranks = apart.ranks;
  EXPECT_TRUE(ResonantPlan().arrange(apart.facts).turns.empty()) << "the heads jump anyway";
  ResonantOptions formula;
  formula.group_of_servers = true;
  EXPECT_TRUE(ResonantPlan(formula).arrange(in_a_row(16, 1_MiB, 16).facts).turns.empty()) << "one group";
  EXPECT_EQ(levels(ResonantPlan(formula).arrange(in_a_row(64, 1_MiB, 16).facts).turns)[63], 3);
  ResonantOptions agents;
  agents.timing = false;
  EXPECT_FALSE(ResonantPlan(agents).arrange(in_a_row(4, 256_KiB, 4).facts).aggregators.empty());
}

TEST(Resonant, ManyRanksWithMuchDataHaveSeveralAgentsOfAServer) {
  Call call = demo(16, 4_MiB);
  const AgentsBySlot agents = choose_agents(call.facts, 2);
  for (const auto& of_slot : agents) EXPECT_EQ(of_slot.size(), 2U);
  const Arrangement made = ResonantPlan().arrange(call.facts);
  EXPECT_EQ(made.aggregators.size(), 16U);
  EXPECT_FALSE(made.turns.empty());
  check_agents(call, made);
}

TEST(Resonant, NamesAndParametersAgree) {
  for (const char* text :
       {"resonant", "resonant;reading=reread;blocking=1", "resonant;timing=never;group=2;agents=3;delay=100",
        "resonant;group=servers", "two_phase;domains=cyclic", "two_phase;only=interleaved"}) {
    const auto plan = make_collective_plan(text);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    auto again = make_collective_plan((*plan)->name());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ((*again)->name(), (*plan)->name());
  }
  EXPECT_EQ(make_collective_plan("resonant;reading=twice").code(), Code::invalid);
}

}  // namespace
}  // namespace tutti
