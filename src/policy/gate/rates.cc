#include "policy/gate/rates.h"

#include <algorithm>
#include <cmath>

namespace tutti::gate {
namespace {

constexpr double kKnown = 0.5;  // weight from which a rate counts as measured
constexpr double kWell = 2;     // and from which it is compared with others
constexpr int kPasses = 3;      // over the last observations, for each new one
constexpr double kFarOff = 1.25;
constexpr double kStep = 0.5;  // of a difference that one observation corrects

}  // namespace

bool Rates::observe(const Spent& spent, double written) {
  Observation seen;
  seen.written = written;
  std::map<std::uint32_t, double> all;
  for (const auto& [n, seconds] : spent) {
    all[n] += seconds;
    seen.seconds += seconds;
  }
  if (seen.seconds <= 0 || written <= 0) return false;
  seen.spent.assign(all.begin(), all.end());
  // Of the first one, any number is taken to move as much together as any other.
  double shares = 0;
  for (const auto& [n, seconds] : seen.spent) shares += seconds / n;
  std::map<std::uint32_t, double> thought;
  for (const auto& [n, seconds] : seen.spent) thought[n] = per_writer(n);
  for (const auto& [n, seconds] : seen.spent) {
    const double before = thought[n];
    Rate& rate = rates_[n];
    if (rate.weight == 0) rate.per_writer = before > 0 ? before : written / shares / n;
    rate.weight += seconds / seen.seconds;
  }
  observed_.push_back(std::move(seen));
  if (observed_.size() > kRemembered) observed_.pop_front();
  fit();
  return std::any_of(thought.begin(), thought.end(), [&](const auto& each) {
    const double now = per_writer(each.first);
    return measured(each.first) && (now > kFarOff * each.second || now * kFarOff < each.second);
  });
}

// Each writer tells one thing: what all its time together came to. Going over the last ones a few times, each number of writers
// takes as much of a difference as its share of that writer's time, until they agree.
void Rates::fit() {
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const Observation& each : observed_) {
      double predicted = 0;
      double longest = 0;
      for (const auto& [n, seconds] : each.spent) {
        predicted += seconds * rates_.at(n).per_writer;
        longest = std::max(longest, seconds);
      }
      const double ratio = each.written / predicted;
      for (const auto& [n, seconds] : each.spent) {
        rates_.at(n).per_writer *= std::pow(ratio, kStep * seconds / longest);
      }
    }
  }
}

bool Rates::measured(std::uint32_t n) const {
  const auto found = rates_.find(n);
  return found != rates_.end() && found->second.weight >= kKnown;
}

double Rates::per_writer(std::uint32_t n) const {
  if (rates_.empty() || n == 0) return 0;
  n = std::min(n, kMost);
  const auto above = rates_.lower_bound(n);
  if (above != rates_.end() && above->first == n) return above->second.per_writer;
  if (above == rates_.begin()) return above->second.per_writer * above->first / n;
  const auto below = std::prev(above);
  if (above == rates_.end()) return below->second.per_writer;
  const double low = below->second.per_writer * below->first;
  const double high = above->second.per_writer * above->first;
  const double part = static_cast<double>(n - below->first) / (above->first - below->first);
  return (low + (high - low) * part) / n;
}

std::uint32_t Rates::best() const {
  // Of what was seen well, if there is anything.
  double least_weight = kWell;
  if (std::none_of(rates_.begin(), rates_.end(),
                   [](const auto& each) { return each.second.weight >= kWell; })) {
    least_weight = kKnown;
  }
  double highest = 0;
  for (const auto& [n, rate] : rates_) {
    if (rate.weight >= least_weight) highest = std::max(highest, rate.per_writer * n);
  }
  // Fewer that do as well need not have been seen well: once they are let in alone they will be.
  std::uint32_t best = 0;
  for (const auto& [n, rate] : rates_) {
    if (rate.weight < kKnown || rate.per_writer * n < (1 - kMargin) * highest) continue;
    best = n;
    highest = std::max(highest, rate.per_writer * n);
    break;
  }
  const auto more = rates_.find(best + 1);
  if (best == 0 || more == rates_.end() || more->second.weight >= kWell) return best;
  const double hoped = more->second.per_writer * (best + 1) * (1 + kBonus / std::sqrt(more->second.weight));
  return hoped * (1 - kMargin) > highest ? best + 1 : best;
}

std::uint32_t Rates::enough() const {
  const std::uint32_t best = this->best();
  if (best == 0) return 0;
  if (!measured(1)) return 1;
  // A writer that got next to nothing alone would need more than there are numbers for.
  const double alone = std::ceil((1 - kMargin) * together(best) / per_writer(1));
  const auto least = static_cast<std::uint32_t>(std::min(alone, static_cast<double>(best)));
  // Between what could be enough and what was: halve.
  std::uint32_t low = std::max<std::uint32_t>(least, 1);
  for (std::uint32_t n = low; n < best; ++n) {
    if (measured(n)) low = n + 1;
  }
  if (low < best) return low == least ? low : (low + best) / 2;
  return best;
}

}  // namespace tutti::gate
