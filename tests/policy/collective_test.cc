#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "policy/collective/plan.h"
#include "policy/collective/sieve.h"

namespace tutti {
namespace {

Schedule schedule(const char* name, const CollectiveFacts& facts) {
  auto plan = make_collective_plan(name);
  EXPECT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->name(), name);
  return (*plan)->schedule(facts);
}

// So many ranks that share the first bytes of a file, block by block.
std::vector<RankFacts> interleaved(std::size_t ranks, std::uint64_t block, std::uint64_t blocks) {
  std::vector<RankFacts> facts(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    facts[rank].bounds = {Bytes(rank * block), Bytes((blocks - 1) * ranks * block + block)};
    facts[rank].bytes = Bytes(block * blocks);
    facts[rank].runs = blocks;
    facts[rank].bytes_by_slot.resize(4);
    for (std::uint64_t i = 0; i < blocks; ++i)
      facts[rank].bytes_by_slot[(i * ranks + rank) * block / (64 << 10) % 4] += Bytes(block);
  }
  return facts;
}

CollectiveFacts facts_of(std::span<const RankFacts> ranks) {
  CollectiveFacts facts;
  facts.layout = {64_KiB, 4, 0, 4};
  facts.ranks = ranks;
  facts.cb_buffer_size = 1_MiB;
  return facts;
}

TEST(CollectivePlan, UnknownNameIsRefusedWithTheKnownOnes) {
  const auto plan = make_collective_plan("three_phase");
  EXPECT_EQ(plan.code(), Code::invalid);
  for (const std::string& name : collective_plan_names())
    EXPECT_NE(plan.status().message().find(name), std::string::npos);
}

TEST(CollectivePlan, OnlyIndependentNeedsNoFacts) {
  for (const std::string& name : collective_plan_names())
    EXPECT_EQ((*make_collective_plan(name))->always_independent(), name == "independent") << name;
}

// Every byte of the file between first and last is in one round of one aggregator, in bounded parts.
TEST(TwoPhase, DomainsCoverTheFileOnceInBoundedRounds) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<RankFacts> ranks(1 + random.below(20));
    Bytes first = Bytes::max();
    Bytes end;
    for (RankFacts& rank : ranks) {
      if (random.chance(0.2)) continue;
      rank.bounds = {Bytes(random.below(20 << 20)), Bytes(1 + random.below(5 << 20))};
      rank.bytes = Bytes(1 + random.below(rank.bounds.length.count()));
      rank.runs = 1 + random.below(1000);
      first = std::min(first, rank.bounds.offset);
      end = std::max(end, rank.bounds.end());
    }
    CollectiveFacts facts = facts_of(ranks);
    facts.cb_nodes = static_cast<int>(random.below(6));
    facts.cb_buffer_size = Bytes(1 + random.below(4 << 20));
    const Schedule made = schedule("two_phase", facts);
    std::map<Bytes, Bytes> parts;
    std::map<int, int> seen;
    for (const Aggregator& aggregator : made) {
      EXPECT_EQ(++seen[aggregator.rank], 1);
      EXPECT_GE(aggregator.rank, 0);
      EXPECT_LT(static_cast<std::size_t>(aggregator.rank), ranks.size());
      for (const Round& each : aggregator.rounds) {
        ASSERT_FALSE(each.empty());
        Bytes held;
        for (const Extent& part : each) held += part.length;
        EXPECT_LE(held, facts.cb_buffer_size);
        for (const Extent& part : each) EXPECT_TRUE(parts.emplace(part.offset, part.end()).second);
      }
    }
    EXPECT_LE(made.size(), facts.cb_nodes > 0 ? static_cast<std::size_t>(facts.cb_nodes) : 4U);
    Bytes at = first;
    for (const auto& [from, to] : parts) {
      EXPECT_EQ(from, at);
      at = to;
    }
    EXPECT_EQ(made.empty(), end == 0_B);
    EXPECT_EQ(at, end == 0_B ? Bytes::max() : end);
  }
}

TEST(TwoPhase, DomainsEndAtStripes) {
  const auto ranks = interleaved(9, 3240, 1000);
  const Schedule made = schedule("two_phase", facts_of(ranks));
  ASSERT_EQ(made.size(), 4U) << "one aggregator for each server";
  for (std::size_t i = 0; i + 1 < made.size(); ++i)
    EXPECT_EQ(made[i].rounds.back().back().end() % 64_KiB, 0_B);
}

TEST(TwoPhase, AggregatorsAreThoseAllowed) {
  const auto ranks = interleaved(9, 3240, 1000);
  CollectiveFacts facts = facts_of(ranks);
  const std::vector<int> allowed{7, 3, 7, 99, 5};
  facts.aggregators = allowed;
  facts.cb_nodes = 2;
  const Schedule made = schedule("two_phase", facts);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].rank, 7);
  EXPECT_EQ(made[1].rank, 3);
}

TEST(Automatic, ExchangesOnlySmallInterleavedDenseRuns) {
  const auto small = interleaved(9, 64, 10'000);
  const auto large = interleaved(9, 64 << 10, 100);
  EXPECT_FALSE(schedule("auto", facts_of(small)).empty());
  EXPECT_TRUE(schedule("auto", facts_of(large)).empty());
  auto apart = small;  // each rank a place of its own
  for (std::size_t rank = 0; rank < apart.size(); ++rank) apart[rank].bounds = {Bytes(rank << 20U), 1_MiB};
  EXPECT_TRUE(schedule("auto", facts_of(apart)).empty());
  auto sparse = small;
  for (RankFacts& rank : sparse) rank.bounds.length = 8_GiB;
  EXPECT_TRUE(schedule("auto", facts_of(sparse)).empty());
}

TEST(Automatic, SaysWhatItPredictedAndChose) {
  const auto plan = make_collective_plan("auto");
  const auto ranks = interleaved(4, 256 << 10, 4);
  CollectiveFacts facts = facts_of(ranks);
  facts.rotational = true;
  const Arrangement made = (*plan)->arrange(facts);
  for (const char* name : {"independent", "two_phase", "two_phase;domains=cyclic", "resonant"})
    EXPECT_NE(made.reason.find(name), std::string::npos) << made.reason;
  EXPECT_NE(made.reason.find("chosen: "), std::string::npos);
}

TEST(Automatic, OnDisksLeavesAloneWhatResonatesAndMakesTheRestResonate) {
  const auto alone = interleaved(4, 64 << 10, 4);  // each rank has a server to itself
  CollectiveFacts facts = facts_of(alone);
  facts.rotational = true;
  EXPECT_TRUE(schedule("auto", facts).empty());
  const auto shared = interleaved(4, 256 << 10, 4);
  facts.ranks = shared;
  EXPECT_FALSE(schedule("auto", facts).empty());
  facts.rotational = false;
  EXPECT_TRUE(schedule("auto", facts).empty()) << "nothing seeks";
}

TEST(Automatic, HintsOverrule) {
  const auto large = interleaved(9, 64 << 10, 100);
  CollectiveFacts facts = facts_of(large);
  facts.aggregate = Toggle::enable;
  EXPECT_FALSE(schedule("auto", facts).empty());
  const auto small = interleaved(9, 64, 10'000);
  facts = facts_of(small);
  facts.aggregate = Toggle::disable;
  EXPECT_TRUE(schedule("auto", facts).empty());
  EXPECT_TRUE(schedule("independent", facts_of(small)).empty());
}

TEST(Sieve, JoinsOverSmallHolesWithinTheBuffer) {
  const std::vector<Extent> extents{{0_B, 10_B}, {15_B, 5_B}, {30_B, 10_B}, {100_B, 200_B}, {305_B, 1_B}};
  EXPECT_EQ(join_over_holes(extents, 10_B, 50_B),
            (std::vector<Extent>{{0_B, 40_B}, {100_B, 200_B}, {305_B, 1_B}}));
  EXPECT_EQ(join_over_holes(extents, 4_B, 1_KiB), extents);
  EXPECT_EQ(join_over_holes(extents, 1_KiB, 1_KiB), (std::vector<Extent>{{0_B, 306_B}}));
}

TEST(Sieve, ReadsByItselfOnlyWhereHolesAreCheaperThanNames) {
  const SieveFacts dense{1_MiB, 1U << 16U, 4_MiB};     // 16 bytes of every 64
  const SieveFacts sparse{1_MiB, 1U << 16U, 1_GiB};    // 16 bytes of every 16 KiB
  const SieveFacts large{64_MiB, 1U << 10U, 128_MiB};  // 64 KiB of every 128
  EXPECT_TRUE(sieve_read(dense, Toggle::automatic));
  EXPECT_FALSE(sieve_read(sparse, Toggle::automatic));
  EXPECT_FALSE(sieve_read(large, Toggle::automatic));
  EXPECT_TRUE(sieve_read(large, Toggle::enable));
  EXPECT_FALSE(sieve_read(dense, Toggle::disable));
  EXPECT_FALSE(sieve_write(dense, Toggle::automatic));
  EXPECT_TRUE(sieve_write(dense, Toggle::enable));
}

}  // namespace
}  // namespace tutti
