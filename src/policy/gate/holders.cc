#include "policy/gate/holders.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tutti::gate {
namespace {

constexpr double kWell = 2;              // and from which it is compared with others
constexpr double kKnown = 0.5;           // weight from which a rate counts as measured
constexpr int kPasses = 3;               // over the last observations, for each new one
constexpr double kStep = 0.5;            // of a difference that one observation corrects
constexpr std::size_t kMostJobs = 4096;  // whose last size is remembered
constexpr double kSmoothing = 0.2;

std::uint32_t bounded(std::size_t n) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(n, Holders::kMost));
}

}  // namespace

void Holders::ask(std::uint64_t writer, std::uint64_t job, Bytes expected, Nanos now) {
  account(now);
  Writer added;
  added.job = job;
  added.expected = static_cast<double>(expected.count());
  if (expected == Bytes()) {
    const auto last = sizes_.find(job);
    added.expected = last == sizes_.end() ? usual_ : last->second;
  }
  if (const auto last = last_of_job_.find(job); last != last_of_job_.end()) {
    const std::uint64_t before = last->second;
    if (writers_.at(before).over) leave_ungated(before, now);
  }
  added.tag = attained_ + added.expected;
  added.ungated = added.expected > 0;
  added.ungated_ended = now;
  if (added.ungated) {
    ungated_.emplace(added.tag, writer);
    last_of_job_[job] = writer;
  }
  writers_[writer] = std::move(added);
}

void Holders::begin(std::uint64_t writer, Nanos now) {
  account(now);
  const auto found = writers_.find(writer);
  if (found == writers_.end() || found->second.writing) return;
  found->second.writing = true;
  ++writing_;
}

void Holders::end(std::uint64_t writer, Bytes written, Nanos now) {
  account(now);
  const auto found = writers_.find(writer);
  if (found == writers_.end() || found->second.over) return;
  Writer& ended = found->second;
  const bool wrote = ended.writing;
  if (ended.writing) {
    ended.writing = false;
    --writing_;
    ++ends_;
    const std::uint32_t more = best() + 1;
    if (ends_ >= next_trial_ && std::any_of(ended.spent.begin(), ended.spent.end(),
                                            [more](const auto& spent) { return spent.first >= more; })) {
      trial_gap_ *= kTrialGrowth;
      next_trial_ = ends_ + trial_gap_;
    }
    if (written > Bytes()) {
      const double size = static_cast<double>(written.count());
      learn(ended, size);
      usual_ = usual_ > 0 ? usual_ + kSmoothing * (size - usual_) : size;
      if (sizes_.size() >= kMostJobs && !sizes_.contains(ended.job)) sizes_.erase(sizes_.begin());
      sizes_[ended.job] = size;
    }
  }
  if (!ended.ungated) {
    writers_.erase(found);
    return;
  }
  ended.over = true;
  // One that gave up, or of which nothing is known, would not be there either.
  if (!wrote || written == Bytes()) leave_ungated(writer, now);
}

void Holders::leave_ungated(std::uint64_t name, Nanos when) {
  Writer& writer = writers_.at(name);
  if (!writer.ungated) return;
  writer.ungated = false;
  writer.ungated_ended = when;
  ungated_.erase({writer.tag, name});
  if (const auto last = last_of_job_.find(writer.job); last != last_of_job_.end() && last->second == name) {
    last_of_job_.erase(last);
  }
  if (writer.over) writers_.erase(name);
}

void Holders::account(Nanos now) {
  if (now <= now_) return;
  const double seconds = (now - now_).seconds();
  run_ungated(seconds, now_);
  now_ = now;
  if (writing_ == 0) return;
  const std::uint32_t n = bounded(writing_);
  const double each = per_writer(n);
  for (auto& [name, writer] : writers_) {
    if (!writer.writing) continue;
    writer.done += each * seconds;
    if (!writer.spent.empty() && writer.spent.back().first == n) {
      writer.spent.back().second += seconds;
    } else {
      writer.spent.emplace_back(n, seconds);
    }
  }
}

void Holders::run_ungated(double seconds, Nanos from) {
  while (seconds > 0 && !ungated_.empty()) {
    const double each = per_writer(bounded(ungated_.size()));
    if (each <= 0) return;  // nothing is known: nobody gets on there
    const auto first = ungated_.begin();
    const double needed = std::max(0.0, first->first - attained_) / each;
    if (needed > seconds) {
      attained_ += each * seconds;
      return;
    }
    attained_ = std::max(attained_, first->first);
    seconds -= needed;
    from += Nanos::from_seconds(needed);
    leave_ungated(first->second, from);
  }
}

void Holders::learn(const Writer& writer, double written) {
  Observation seen;
  seen.written = written;
  std::map<std::uint32_t, double> spent;
  for (const auto& [n, seconds] : writer.spent) {
    spent[n] += seconds;
    seen.seconds += seconds;
  }
  if (seen.seconds <= 0) return;
  seen.spent.assign(spent.begin(), spent.end());
  for (const auto& [n, seconds] : seen.spent) {
    const double before = per_writer(n);
    Rate& rate = rates_[n];
    if (rate.weight == 0) rate.per_writer = before > 0 ? before : written / seen.seconds;
    rate.weight += seconds / seen.seconds;
  }
  observed_.push_back(std::move(seen));
  if (observed_.size() > kRemembered) observed_.pop_front();
  fit();
}

// Each writer tells one thing: what all its time together came to. Going over the last ones a few times, each number of writers
// takes as much of a difference as its share of that writer's time, until they agree.
void Holders::fit() {
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

bool Holders::measured(std::uint32_t n) const {
  const auto found = rates_.find(n);
  return found != rates_.end() && found->second.weight >= kKnown;
}

double Holders::per_writer(std::uint32_t n) const {
  if (rates_.empty() || n == 0) return 0;
  const auto above = rates_.lower_bound(n);
  if (above != rates_.end() && above->first == n) return above->second.per_writer;
  // Fewer writers than were ever seen are taken to move as much together as those; more, each as much as the most that were.
  if (above == rates_.begin()) return above->second.per_writer * above->first / n;
  const auto below = std::prev(above);
  const double low = below->second.per_writer * below->first;
  if (above == rates_.end()) return below->second.per_writer;
  const double high = above->second.per_writer * above->first;
  const double part = static_cast<double>(n - below->first) / (above->first - below->first);
  return (low + (high - low) * part) / n;
}

double Holders::rate(std::uint32_t n) const { return per_writer(std::min(n, kMost)) * n; }

std::uint32_t Holders::best() const {
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

std::uint32_t Holders::most() const {
  const std::uint32_t best = this->best();
  if (best == 0 || !measured(1)) return 1;
  const double alone = per_writer(1);
  const double highest = rate(best);
  const auto least = static_cast<std::uint32_t>(std::ceil((1 - kMargin) * highest / alone));
  // Between what could be enough and what was: halve.
  std::uint32_t low = std::max<std::uint32_t>(least, 1);
  for (std::uint32_t n = low; n < best; ++n) {
    if (measured(n)) low = n + 1;
  }
  if (low < best) return low == least ? low : (low + best) / 2;
  if (ends_ >= next_trial_ && best < kMost) return best + 1;
  return best;
}

double Holders::left(const Writer& writer) const {
  const double left = writer.expected - writer.done;
  // One that takes longer than it should: as much again as it is late.
  return left > 0 ? left : std::max(0.0, -left);
}

double Holders::ungated_tag(std::uint64_t writer) const {
  const auto found = writers_.find(writer);
  return found == writers_.end() ? 0 : found->second.tag;
}

std::optional<Nanos> Holders::ungated_end(std::uint64_t name, Nanos now) const {
  const auto found = writers_.find(name);
  if (found == writers_.end() || found->second.expected <= 0 || rates_.empty()) return std::nullopt;
  const Writer& writer = found->second;
  if (!writer.ungated) return writer.ungated_ended;
  // Those with lower tags end before it.
  double seconds = 0;
  double attained = attained_;
  std::size_t there = ungated_.size();
  for (const auto& [tag, each] : ungated_) {
    seconds += std::max(0.0, tag - attained) / per_writer(bounded(there));
    attained = std::max(attained, tag);
    if (each == name) break;
    --there;
  }
  return std::max(now_, now) + Nanos::from_seconds(std::min(seconds, 1e8)) - (std::max(now_, now) - now_);
}

std::optional<Nanos> Holders::begin_by_waiting(std::uint64_t name, Nanos now) const {
  const auto found = writers_.find(name);
  if (found == writers_.end() || rates_.empty()) return std::nullopt;
  // k places; each who writes frees one when he ends, but for those beyond k; those who wait before it take them in turn.
  const std::uint32_t places = std::max<std::uint32_t>(1, std::min(most(), kMost));
  const double crowded = per_writer(bounded(std::max<std::size_t>(writing_, places)));
  const double each_rate = per_writer(places);
  std::vector<double> free;                       // seconds from now, then a heap with the earliest on top
  std::vector<std::pair<double, double>> before;  // tag and size
  for (const auto& [other, writer] : writers_) {
    if (other == name || writer.over) continue;
    if (writer.expected <= 0) return std::nullopt;
    if (writer.writing) {
      free.push_back(left(writer) / crowded);
    } else if (std::pair(writer.tag, other) < std::pair(found->second.tag, name)) {
      before.emplace_back(writer.tag, writer.expected);
    }
  }
  std::sort(free.begin(), free.end());
  if (free.size() > places) free.erase(free.begin(), free.end() - places);
  free.resize(places, 0.0);
  std::make_heap(free.begin(), free.end(), std::greater<>());
  std::sort(before.begin(), before.end());
  for (const auto& [tag, size] : before) {
    std::pop_heap(free.begin(), free.end(), std::greater<>());
    free.back() += size / each_rate;
    std::push_heap(free.begin(), free.end(), std::greater<>());
  }
  return std::max(now_, now) + Nanos::from_seconds(std::min(free.front(), 1e8));
}

bool Holders::writers_are_small(std::uint64_t name) const {
  const auto found = writers_.find(name);
  if (found == writers_.end() || found->second.expected <= 0) return false;
  double all = 0;
  for (const auto& [other, writer] : writers_) {
    if (!writer.writing) continue;
    if (writer.expected <= 0) return false;
    all += writer.expected;
  }
  return all <= kFirstPatience * found->second.expected;
}

bool Holders::may_write_beside(std::uint64_t name) const {
  const auto found = writers_.find(name);
  if (found == writers_.end()) return false;
  const bool seen = measured(bounded(writing_ + 1));
  return !seen || std::any_of(writers_.begin(), writers_.end(), [&](const auto& each) {
    return each.second.writing && left(each.second) > found->second.expected;
  });
}

std::optional<Nanos> Holders::duration(std::uint64_t name, std::uint32_t others) const {
  const auto found = writers_.find(name);
  if (found == writers_.end() || found->second.expected <= 0 || rates_.empty()) return std::nullopt;
  return Nanos::from_seconds(std::min(found->second.expected / per_writer(bounded(others + 1)), 1e8));
}

}  // namespace tutti::gate
