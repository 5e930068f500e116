#include "policy/collective/cost.h"

#include <algorithm>
#include <cmath>

#include "policy/collective/resonant.h"
#include "policy/collective/sieve.h"
#include "policy/collective/stripes.h"

namespace tutti {
namespace {

double number(Bytes bytes) { return static_cast<double>(bytes.count()); }

// Of requests that reach an idle server one after the other, so many of those that could continue each other do not: with
// four at a time, 1.69 of three (docs/experiments.md).
constexpr double kOutOfOrder = 0.56;
// Of several requests that it has at once a disk takes the nearest: jumps between them are shorter than one after the other.
constexpr double kNearest = 0.6;
// What a server's kernel reads ahead: within it, ranks may come in any order.
constexpr double kReadAhead = 128 << 10;
// Of what is written in smaller pieces between those of other ranks, a server reads the rest first.
constexpr double kPage = 4096;
// Of a rank that sieves, unless it is told otherwise.
constexpr Bytes kWindow = 4_MiB;

// What is read and named if everybody asks for his own: more bytes and fewer runs than are wanted where ranks sieve.
struct Own {
  double bytes = 0;
  double of_rank = 0;  // the most of one
  double runs = 0;
  double runs_of_slot = 0;
  double windows = 1;  // one after the other, the most of one rank

  void add(const RankFacts& rank, bool write) {
    const bool sieved = !write && rank.bytes <= rank.bounds.length &&
                        sieve_read({rank.bytes, rank.runs, rank.bounds.length}, Toggle::automatic);
    const double asked = number(sieved ? rank.bounds.length : rank.bytes);
    const double parts = sieved ? std::ceil(asked / number(kWindow)) : static_cast<double>(rank.runs);
    bytes += asked;
    of_rank = std::max(of_rank, asked);
    runs += parts;
    if (sieved) windows = std::max(windows, parts);
  }
};

// What the facts come to.
struct Sums {
  double bytes = 0;
  double span = 0;     // from the first to the last, without the gaps between ranks
  double of_slot = 0;  // the most of one
  double runs_of_slot = 0;
  Own own;
  double ranks_of_slot = 0;  // the most that one server hears from if everybody asks for his own
  double slots_of_rank = 0;  // the most that one rank asks
  double steps = 0;          // of a synchronization
  double gaps = 0;           // between ranges that lie apart: no plan spares a disk these
  bool interleaved = false;
  bool joined = false;  // what helpers move is whole: holes are none, or small enough to be read over
};

Sums sums_of(const CollectiveFacts& facts) {
  Sums sums;
  double runs = 0;
  for (const RankFacts& rank : facts.ranks) {
    sums.bytes += number(rank.bytes);
    sums.own.add(rank, facts.write);
    runs += static_cast<double>(rank.runs);
  }
  for (std::size_t slot = 0; slot < facts.layout.stripe_count; ++slot) {
    double bytes = 0;
    double ranks = 0;
    for (const RankFacts& rank : facts.ranks) {
      if (slot >= rank.bytes_by_slot.size() || rank.bytes_by_slot[slot] == 0_B) continue;
      bytes += number(rank.bytes_by_slot[slot]);
      ranks += 1;
    }
    sums.of_slot = std::max(sums.of_slot, bytes);
    sums.ranks_of_slot = std::max(sums.ranks_of_slot, ranks);
  }
  for (const RankFacts& rank : facts.ranks) {
    const auto slots = std::count_if(rank.bytes_by_slot.begin(), rank.bytes_by_slot.end(),
                                     [](Bytes bytes) { return bytes > 0_B; });
    sums.slots_of_rank = std::max(sums.slots_of_rank, static_cast<double>(slots));
  }
  // A run that is longer than a stripe is one on each server.
  sums.runs_of_slot = std::max(runs / facts.layout.stripe_count, sums.ranks_of_slot);
  sums.own.runs_of_slot = std::max(sums.own.runs / facts.layout.stripe_count, sums.ranks_of_slot);
  sums.steps = std::ceil(std::log2(static_cast<double>(std::max<std::size_t>(2, facts.ranks.size()))));
  sums.interleaved = !follow_each_other(facts.ranks);
  const std::vector<Extent> ranges = wanted_ranges(facts.ranks);
  for (const Extent& range : ranges) sums.span += number(range.length);
  sums.gaps = static_cast<double>(ranges.size()) - (ranges.empty() ? 0 : 1);
  const double holes = std::max(0.0, sums.span - sums.bytes);
  sums.joined =
      holes <= sums.span / 64 || (!facts.write && holes / std::max(1.0, runs) <= number(kWorthReading));
  return sums;
}

// The share of the bytes that agents have to pass on.
double moved_by_agents(const CollectiveFacts& facts) {
  const AgentsBySlot agents = choose_agents(facts, 1);
  double moved = 0;
  double all = 0;
  for (std::size_t slot = 0; slot < agents.size(); ++slot) {
    for (std::size_t rank = 0; rank < facts.ranks.size(); ++rank) {
      if (slot >= facts.ranks[rank].bytes_by_slot.size()) continue;
      const double bytes = number(facts.ranks[rank].bytes_by_slot[slot]);
      all += bytes;
      if (agents[slot].empty() || static_cast<std::size_t>(agents[slot][0]) != rank) moved += bytes;
    }
  }
  return all > 0 ? moved / all : 0;
}

}  // namespace

MachineFigures figures_of(bool rotational) {
  if (rotational) return {60e6, 117e6, 6e-3, 400e-6, 5e-6, 45e-6, 2e9};
  return {700e6, 1900e6, 0, 25e-6, 5e-6, 5e-6, 4e9};
}

std::vector<Prediction> predict(const CollectiveFacts& facts) {
  MachineFigures machine = figures_of(facts.rotational);
  // What is written stays in memory at first, and goes to the disk in its order.
  if (facts.write) machine.jump = 0;
  const Sums sums = sums_of(facts);
  const double ranks = static_cast<double>(facts.ranks.size());
  const double servers = facts.layout.stripe_count;
  const double helpers = std::min(ranks, servers);
  const double rounds = std::max(1.0, std::ceil(sums.span / helpers / number(facts.cb_buffer_size)));
  // Whatever the plan, the devices and the servers' cards have this to do.
  const double served = std::max(sums.of_slot / machine.device, sums.of_slot / machine.network);
  const double synchronized = machine.step * sums.steps;
  const double named = sums.runs_of_slot * machine.run;
  // Helpers have whole stripes to name, and read over small holes; otherwise the same runs.
  const double filled = sums.joined && sums.bytes > 0 ? sums.span / sums.bytes : 1;
  const double helped = served * filled + (sums.joined ? rounds * machine.run : named);
  // What is passed on goes over the card of a helper a second time, the last round's after all reading, and through memory
  // twice.
  const auto passed_on = [&](double share) {
    const double each = sums.bytes * share / helpers;
    return each / machine.network / rounds + 2 * each / machine.copy + 4 * synchronized +
           machine.step * 2 * rounds;
  };

  // What several ranks sieve out of the same stripes comes from the device once, and over the card for each.
  const double sieved = sums.bytes > 0 ? sums.own.bytes / sums.bytes : 1;
  const double touched = sums.bytes > 0 ? std::min(sieved, std::max(1.0, sums.span / sums.bytes)) : 1;
  const double served_own =
      std::max({sums.of_slot * touched / machine.device, sums.of_slot * sieved / machine.network,
                sums.own.of_rank / machine.network});
  const double named_own = sums.own.runs_of_slot * machine.run;

  // Everybody his own. Requests of several ranks at one server come in any order; if they interleave there, a disk passes
  // over the same places once for each of them.
  double own = served_own;
  const double others = std::max(0.0, sums.ranks_of_slot - 1);
  const double apart = sums.gaps * machine.jump;
  const double in_any_order = sums.of_slot > kReadAhead ? machine.jump * kOutOfOrder : 0;
  own += std::max(apart * kNearest, others * in_any_order);
  if (facts.rotational && !facts.write && sums.interleaved)
    own += others * sums.of_slot / sums.ranks_of_slot / machine.device;
  own += named_own + machine.message * 2 * sums.own.windows + synchronized;
  if (facts.write && sums.interleaved && sums.own.runs > 0 && sums.bytes / sums.own.runs < kPage)
    own += sums.own.runs_of_slot * figures_of(facts.rotational).jump;

  // Contiguous domains: every server hears from as many helpers as its stripes are dealt to.
  const double stripes = sums.of_slot / number(facts.layout.stripe_size);
  const double heard = std::max(0.0, std::min(helpers, stripes) - 1);
  const double two_phase = helped + std::max(apart * kNearest, heard * machine.jump * kOutOfOrder * rounds) +
                           passed_on((ranks - 1) / ranks) + machine.message * 2 * rounds;
  const double cyclic = helped + apart + passed_on((ranks - 1) / ranks) + machine.message * 2 * rounds;

  double resonant = synchronized + machine.message * 2;
  if (!sums.interleaved) {
    // A set has as many groups as servers: with one, its ranks come in any order too.
    const double groups = facts.write ? 1 : std::max(1.0, std::min(sums.ranks_of_slot, sums.slots_of_rank));
    const double beside = std::ceil(sums.ranks_of_slot / groups) - 1;  // of the same group
    resonant += served_own + named_own + machine.message * 2 * (sums.own.windows - 1) +
                (groups - 1) * (machine.step + 200e-6) +
                std::max(apart * (beside > 0 ? kNearest : 1), groups * beside * in_any_order);
  } else {
    resonant += apart + helped + passed_on(moved_by_agents(facts)) + machine.message * 2 * (rounds - 1);
  }
  return {{"independent", own},
          {"two_phase;domains=cyclic", cyclic},
          {"two_phase", two_phase},
          {"resonant", resonant}};
}

}  // namespace tutti
