#include "policy/request/chooser.h"

#include <algorithm>

namespace tutti {
namespace {

// With fewer waiting on average a trial tells nothing.
constexpr std::uint32_t kFewestWaiting = 2;
// A silence as long ends what was measured: whatever comes next may be another load.
constexpr Nanos kSilence = 1_s;
constexpr int kResidencesPerBlock = 4;

}  // namespace

Chooser::Chooser(std::size_t choices) : gaps_(choices, kFirstGap), last_(choices) {}

std::optional<std::vector<PlanStep>> Chooser::take(const Sample& sample, Nanos now) {
  const bool gap = previous_ && now - sampled_ > kSilence;
  measure(sample, now);
  const bool waiting = sample.applications >= kFewestWaiting;
  if (phase_ == Phase::holding) {
    const auto challenger = waiting && !gap ? due(now) : std::nullopt;
    if (!challenger) return std::nullopt;
    return begin_trial(*challenger, now);
  }
  if (gap) {
    // The plan has brought back the one that holds by itself.
    enter(Phase::holding, now);
    return std::nullopt;
  }
  if (now < end_) return std::nullopt;
  switch (phase_) {
    case Phase::before:
      enter(Phase::tried, end_);
      return std::nullopt;
    case Phase::tried:
      enter(Phase::after, end_);
      return std::nullopt;
    default:
      return judge(now);
  }
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
    if (phase_ != Phase::holding && sampled_ >= begin_ && sampled_ < end_) {
      Block& block = blocks_[static_cast<std::size_t>(phase_) - 1];
      block.waited += static_cast<double>(sample.applications) * passed.seconds();
      block.bytes += sample.bytes - previous_->bytes;
    }
  }
  previous_ = sample;
  sampled_ = now;
}

std::optional<std::size_t> Chooser::due(Nanos /*now*/) const {
  if (wins_ > 0) return challenger_;
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
  ++trials_;
  for (Block& block : blocks_) block = {};
  enter(Phase::before, now + kLead - length_ / 4);
  return {{now, static_cast<std::uint32_t>(choice_)},
          {end_, static_cast<std::uint32_t>(challenger_)},
          {end_ + length_, static_cast<std::uint32_t>(choice_)}};
}

// The first quarter of a block still shows the one before.
void Chooser::enter(Phase phase, Nanos from) {
  phase_ = phase;
  begin_ = from + length_ / 4;
  end_ = from + length_;
}

std::optional<std::vector<PlanStep>> Chooser::judge(Nanos now) {
  phase_ = Phase::holding;
  last_[challenger_] = busy_;
  const double own = (blocks_[0].cost() + blocks_[2].cost()) / 2;
  const double other = blocks_[1].cost();
  const bool told = blocks_[0].cost() > 0 && blocks_[2].cost() > 0 && other > 0;
  if (!told || other > (1 - kMargin) * own) {
    wins_ = 0;
    gaps_[challenger_] = std::min(gaps_[challenger_] * 2, kLongestGap);
    return std::nullopt;
  }
  if (++wins_ < 2) return std::nullopt;
  wins_ = 0;
  gaps_[choice_] = kFirstGap;
  last_[choice_] = busy_;
  choice_ = challenger_;
  return std::vector<PlanStep>{{now + kLead, static_cast<std::uint32_t>(choice_)}};
}

}  // namespace tutti
