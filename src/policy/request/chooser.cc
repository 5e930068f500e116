#include "policy/request/chooser.h"

#include <algorithm>
#include <cmath>

namespace tutti {
namespace {

// With fewer waiting on average a trial tells nothing.
constexpr std::uint32_t kFewestWaiting = 2;
// A silence as long ends what was measured: whatever comes next may be another load.
constexpr Nanos kSilence = 1_s;
constexpr int kResidencesPerBlock = 4;
// Of a block, at its begin: still shows the one before.
constexpr int kSettling = 3;
// Standard errors.
constexpr double kSure = 2;
// A challenger that costs so much more (as a logarithm) is not let on until one is sure.
constexpr double kMuchWorse = 0.3;

}  // namespace

Chooser::Chooser(std::size_t choices) : gaps_(choices, kFirstGap), last_(choices) {}

std::optional<std::vector<PlanStep>> Chooser::take(const Sample& sample, Nanos now) {
  const bool gap = previous_ && now - sampled_ > kSilence;
  measure(sample, now);
  if (!trying_) {
    const auto challenger = sample.applications >= kFewestWaiting && !gap ? due() : std::nullopt;
    if (!challenger) return std::nullopt;
    return begin_trial(*challenger, now);
  }
  if (gap) {
    trying_ = false;
    return std::vector<PlanStep>{{now, static_cast<std::uint32_t>(choice_)}};
  }
  return now < begin_ + length_ ? std::nullopt : end_block(now);
}

void Chooser::measure(const Sample& sample, Nanos now) {
  if (previous_ && now > sampled_ && now - sampled_ <= kSilence && sample.bytes >= previous_->bytes &&
      sample.requests >= previous_->requests) {
    const Nanos passed = now - sampled_;
    if (sample.applications >= kFewestWaiting) busy_ += passed;
    if (const std::uint64_t served = sample.requests - previous_->requests; served > 0) {
      const double here =
          static_cast<double>(sample.present) * passed.seconds() / static_cast<double>(served);
      residence_ = residence_ > 0 ? 0.9 * residence_ + 0.1 * here : here;
    }
    if (trying_ && sampled_ >= begin_ + length_ / kSettling && sampled_ < begin_ + length_) {
      blocks_.back().waited += static_cast<double>(sample.applications) * passed.seconds();
      blocks_.back().bytes += sample.bytes - previous_->bytes;
    }
  }
  previous_ = sample;
  sampled_ = now;
}

std::optional<std::size_t> Chooser::due() const {
  std::optional<std::size_t> best;
  for (std::size_t each = 0; each < gaps_.size(); ++each) {
    if (each == choice_ || busy_ - last_[each] < gaps_[each]) continue;
    if (!best || busy_ - last_[each] - gaps_[each] > busy_ - last_[*best] - gaps_[*best]) best = each;
  }
  return best;
}

std::vector<PlanStep> Chooser::begin_trial(std::size_t challenger, Nanos now) {
  const double wanted = kResidencesPerBlock * residence_;
  length_ = std::clamp(Nanos(static_cast<std::int64_t>(wanted * 1e9)), kShortestBlock, kLongestBlock);
  challenger_ = challenger;
  trying_ = true;
  ++trials_;
  blocks_.assign(1, {});
  ratios_.clear();
  begin_ = now;
  std::vector<PlanStep> plan;
  for (std::size_t block = 0; block < 2 * kMostPairs; ++block) {
    const std::size_t turn = block % 2 == 0 ? choice_ : challenger_;
    plan.push_back({begin_ + length_ * static_cast<std::int64_t>(block), static_cast<std::uint32_t>(turn)});
  }
  plan.push_back({plan.back().from + length_, static_cast<std::uint32_t>(choice_)});
  return plan;
}

std::optional<std::vector<PlanStep>> Chooser::end_block(Nanos now) {
  if (blocks_.size() % 2 == 0) {
    const double own = blocks_[blocks_.size() - 2].cost();
    const double other = blocks_.back().cost();
    if (own > 0 && other > 0) ratios_.push_back(std::log(other / own));
    const Verdict verdict = judge();
    if (verdict != Verdict::open) return end_trial(verdict == Verdict::won, now);
  }
  blocks_.emplace_back();
  begin_ += length_;
  return std::nullopt;
}

Chooser::Verdict Chooser::judge() const {
  const std::size_t pairs = blocks_.size() / 2;
  const auto count = static_cast<double>(ratios_.size());
  const bool last = pairs >= kMostPairs;
  if (ratios_.empty()) return pairs >= kFewestPairs ? Verdict::lost : Verdict::open;
  double mean = 0;
  for (const double ratio : ratios_) mean += ratio / count;
  if (pairs < kFewestPairs) return pairs > 1 && mean > kMuchWorse ? Verdict::lost : Verdict::open;
  double squares = 0;
  for (const double ratio : ratios_) squares += (ratio - mean) * (ratio - mean);
  const double error = count > 1 ? std::sqrt(squares / (count - 1) / count) : mean;
  const double enough = std::log(1 - kMargin);
  if (mean <= enough && mean + kSure * error < 0) return Verdict::won;
  if (last || mean - kSure * error > enough) return Verdict::lost;
  return Verdict::open;
}

std::vector<PlanStep> Chooser::end_trial(bool won, Nanos now) {
  trying_ = false;
  last_[challenger_] = busy_;
  if (won) {
    gaps_[choice_] = kFirstGap * kGrowth;
    last_[choice_] = busy_;
    choice_ = challenger_;
  } else {
    gaps_[challenger_] = std::min(gaps_[challenger_] * kGrowth, kLongestGap);
  }
  return {{now, static_cast<std::uint32_t>(choice_)}};
}

}  // namespace tutti
