#include "policy/collective/two_phase.h"

#include <algorithm>
#include <array>

#include "policy/collective/registry.h"
#include "policy/collective/resonant.h"
#include "policy/collective/stripes.h"

namespace tutti {
namespace {

Bytes round_down(Bytes value, Bytes unit) { return value - value % unit; }

// The ranks that aggregate: the first of those given, or spread evenly over all.
std::vector<int> choose_aggregators(const CollectiveFacts& facts) {
  const std::size_t ranks = facts.ranks.size();
  std::size_t wanted =
      facts.cb_nodes > 0 ? static_cast<std::size_t>(facts.cb_nodes) : facts.layout.stripe_count;
  if (!facts.aggregators.empty()) {
    std::vector<int> allowed = candidates(facts);
    if (facts.cb_nodes > 0) allowed.resize(std::min(allowed.size(), wanted));
    return allowed;
  }
  std::vector<int> chosen;
  wanted = std::min(wanted, ranks);
  for (std::size_t i = 0; i < wanted; ++i) chosen.push_back(static_cast<int>(i * ranks / wanted));
  return chosen;
}

std::vector<Round> cut_into_rounds(Extent domain, Bytes buffer) {
  std::vector<Round> rounds;
  for (Bytes at = domain.offset; at < domain.end();) {
    // Rounds end where buffers would, counted from the file's begin, so that they keep to stripes.
    const Bytes end = std::min(domain.end(), round_down(at, buffer) + buffer);
    rounds.push_back({Extent{at, end - at}});
    at = end;
  }
  return rounds;
}

constexpr std::string_view kParameters[] = {"domains", "only"};
constexpr std::array<std::string_view, 2> kDomains = {"contiguous", "cyclic"};
constexpr std::array<std::string_view, 2> kOnly = {"always", "interleaved"};

Result<std::unique_ptr<CollectivePlan>> make(const Parameters& parameters) {
  const auto domains = parameters.choice("domains", 0, kDomains);
  if (!domains.ok()) return domains.status();
  const auto only = parameters.choice("only", 0, kOnly);
  if (!only.ok()) return only.status();
  return std::unique_ptr<CollectivePlan>(std::make_unique<TwoPhasePlan>(*domains == 1, *only == 1));
}

// Counted from the file's begin, so that an aggregator has the same stripes in every call.
Schedule cyclic_domains(const CollectiveFacts& facts, std::span<const int> ranks) {
  std::vector<RoundBuilder> rounds(ranks.size(), RoundBuilder(facts.cb_buffer_size));
  const Bytes stripe = facts.layout.stripe_size;
  each_stripe(stripe, wanted_ranges(facts.ranks),
              [&](Extent part) { rounds[part.offset / stripe % ranks.size()].add(part); });
  Schedule schedule;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!rounds[i].empty()) schedule.push_back({ranks[i], rounds[i].take()});
  }
  return schedule;
}

}  // namespace

constinit const Registration<CollectivePlan> collective_plans::two_phase = {"two_phase", kParameters, make};

std::string TwoPhasePlan::name() const {
  std::string name = "two_phase";
  if (cyclic_) name += ";domains=cyclic";
  if (only_interleaved_) name += ";only=interleaved";
  return name;
}

Schedule TwoPhasePlan::schedule(const CollectiveFacts& facts) const {
  const Extent whole = bounds_of(facts.ranks);
  if (whole.length == 0_B || facts.aggregate == Toggle::disable) return {};
  if (only_interleaved_ && follow_each_other(facts.ranks)) return {};
  const std::vector<int> ranks = choose_aggregators(facts);
  if (cyclic_) return cyclic_domains(facts, ranks);
  const Bytes stripe = facts.layout.stripe_size;
  const Bytes begin = round_down(whole.offset, stripe);
  const std::uint64_t stripes = (whole.end() - begin + stripe - 1_B) / stripe;
  const std::uint64_t each = (stripes + ranks.size() - 1) / ranks.size();
  const Bytes buffer = std::max(1_B, facts.cb_buffer_size);
  Schedule schedule;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Bytes from = std::max(whole.offset, begin + stripe * (each * i));
    const Bytes to = std::min(whole.end(), begin + stripe * (each * (i + 1)));
    if (from < to) schedule.push_back({ranks[i], cut_into_rounds({from, to - from}, buffer)});
  }
  return schedule;
}

}  // namespace tutti
