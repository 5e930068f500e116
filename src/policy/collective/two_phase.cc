#include "policy/collective/two_phase.h"

#include <algorithm>

#include "policy/collective/registry.h"

namespace tutti {
namespace {

Bytes round_down(Bytes value, Bytes unit) { return value - value % unit; }

// The ranks that aggregate: the first of those given, or spread evenly over all.
std::vector<int> choose_aggregators(const CollectiveFacts& facts) {
  const std::size_t ranks = facts.ranks.size();
  std::size_t wanted =
      facts.cb_nodes > 0 ? static_cast<std::size_t>(facts.cb_nodes) : facts.layout.stripe_count;
  std::vector<int> chosen;
  for (const int rank : facts.aggregators) {
    const bool known = std::find(chosen.begin(), chosen.end(), rank) != chosen.end();
    if (rank >= 0 && static_cast<std::size_t>(rank) < ranks && !known) chosen.push_back(rank);
  }
  if (!chosen.empty()) {
    if (facts.cb_nodes > 0) chosen.resize(std::min(chosen.size(), wanted));
    return chosen;
  }
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

Result<std::unique_ptr<CollectivePlan>> make(const Parameters& /*none*/) {
  return std::unique_ptr<CollectivePlan>(std::make_unique<TwoPhasePlan>());
}

}  // namespace

constinit const Registration<CollectivePlan> collective_plans::two_phase = {"two_phase", {}, make};

Schedule TwoPhasePlan::schedule(const CollectiveFacts& facts) const {
  const Extent whole = bounds_of(facts.ranks);
  if (whole.length == 0_B || facts.aggregate == Toggle::disable) return {};
  const std::vector<int> ranks = choose_aggregators(facts);
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
