#include "policy/gate/holders.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tutti::gate {
namespace {

constexpr std::size_t kMostJobs = 4096;   // that are remembered
constexpr std::size_t kMostPlanned = 64;  // of those who wait, for the cost
constexpr double kSmoothing = 0.2;
constexpr double kLongest = 1e8;  // seconds

std::uint32_t bounded(std::size_t n) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(n, Holders::kMost));
}

}  // namespace

// What follows if nobody else asks: those who write share the rate evenly; when fewer write than there are places, the next begins.
struct Holders::Plan {
  struct Entry {
    double size = 0;
    bool own = false;
  };
  std::vector<Entry> writing;
  std::vector<Entry> waiting;  // in order
  double own_begins = 0;
  double own_ends = 0;
  double sum = 0;  // of all ends

  void run(const Rates& rates, std::uint32_t places) {
    const auto later = [](const Entry& a, const Entry& b) { return a.size > b.size; };
    std::make_heap(writing.begin(), writing.end(), later);
    double now = 0;
    double attained = 0;
    auto next = waiting.begin();
    while (next != waiting.end() || !writing.empty()) {
      while (next != waiting.end() && writing.size() < places) {
        if (next->own) own_begins = now;
        writing.push_back({next->size + attained, next->own});
        std::push_heap(writing.begin(), writing.end(), later);
        ++next;
      }
      const double each = rates.per_writer(bounded(writing.size()));
      std::pop_heap(writing.begin(), writing.end(), later);
      const Entry first = writing.back();
      writing.pop_back();
      now += std::max(0.0, first.size - attained) / each;
      attained = std::max(attained, first.size);
      sum += now;
      if (first.own) own_ends = now;
    }
  }
};

void Holders::ask(std::uint64_t name, std::uint64_t job, Bytes expected, Nanos now) {
  account(now);
  Writer added;
  added.job = job;
  added.asked = now;
  added.expected = static_cast<double>(expected.count());
  if (jobs_.size() >= kMostJobs && !jobs_.contains(job)) jobs_.erase(jobs_.begin());
  const Account& known = jobs_[job];
  if (expected == Bytes()) added.expected = known.size > 0 ? known.size : usual_;
  if (added.expected > 0) ungated_.ask(job, added.expected, now);
  writers_[name] = std::move(added);
}

void Holders::begin(std::uint64_t writer, Nanos now) {
  account(now);
  const auto found = writers_.find(writer);
  if (found == writers_.end() || found->second.writing) return;
  found->second.writing = true;
  ++writing_;
}

void Holders::end(std::uint64_t name, Bytes written, Nanos now) {
  account(now);
  const auto found = writers_.find(name);
  if (found == writers_.end()) return;
  const Writer ended = std::move(found->second);
  writers_.erase(found);
  if (!ended.writing) {
    ungated_.leave(ended.job, now);
    return;
  }
  --writing_;
  ++ends_;
  const std::uint32_t more = rates_.best() + 1;
  if (ends_ >= next_trial_ && std::any_of(ended.spent.begin(), ended.spent.end(),
                                          [more](const auto& spent) { return spent.first >= more; })) {
    trial_gap_ *= kTrialGrowth;
    next_trial_ = ends_ + trial_gap_;
  }
  if (written == Bytes()) {
    // Nothing is known of it: neither would it be without a gate.
    ungated_.leave(ended.job, now);
    return;
  }
  ungated_.end(ended.job, now);
  const double size = static_cast<double>(written.count());
  if (rates_.observe(ended.spent, size)) {
    ungated_.restart(now);
    for (auto& [name_of, job] : jobs_) job.seconds = job.count = 0;
  }
  usual_ = usual_ > 0 ? usual_ + kSmoothing * (size - usual_) : size;
  Account& own = jobs_[ended.job];
  own.size = size;
  own.seconds = own.seconds * Ungated::kMemory + (now - ended.asked).seconds();
  own.count = own.count * Ungated::kMemory + 1;
}

void Holders::leave(std::uint64_t job, Nanos now) {
  account(now);
  ungated_.leave(job, now);
  jobs_.erase(job);
}

void Holders::account(Nanos now) {
  if (now <= now_) return;
  const double seconds = (now - now_).seconds();
  now_ = now;
  if (writing_ == 0) return;
  const std::uint32_t n = bounded(writing_);
  const double each = rates_.per_writer(n);
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

std::uint32_t Holders::most() const {
  const std::uint32_t enough = rates_.enough();
  if (enough == 0) return kUnlimited;
  if (ends_ >= next_trial_ && enough == rates_.best() && enough < kMost) return enough + 1;
  return enough;
}

double Holders::left(const Writer& writer) const {
  const double left = writer.expected - writer.done;
  // One that takes longer than it should: as much again as it is late.
  return left > 0 ? left : std::max(0.0, -left);
}

double Holders::expected(std::uint64_t writer) const {
  const auto found = writers_.find(writer);
  return found == writers_.end() ? 0 : found->second.expected;
}

double Holders::credit(const Writer& writer) const {
  double credit = kStart * writer.expected / rates_.per_writer(1);
  const auto found = jobs_.find(writer.job);
  const double without = ungated_.mean(writer.job);
  if (found == jobs_.end() || found->second.count <= 0 || without <= 0) return credit;
  return credit + (1 + kGrant) * without * found->second.count - found->second.seconds;
}

std::optional<Holders::Outlook> Holders::outlook(std::uint64_t name, Nanos now) const {
  const auto found = writers_.find(name);
  if (found == writers_.end() || found->second.expected <= 0 || !rates_.known()) return std::nullopt;
  const double ago = std::max(0.0, (now - now_).seconds());
  const double each = rates_.per_writer(bounded(writing_));
  Plan wait;
  std::vector<std::pair<double, std::uint64_t>> line;
  for (const auto& [other, writer] : writers_) {
    if (writer.expected <= 0) return std::nullopt;
    if (writer.writing) {
      wait.writing.push_back({std::max(0.0, left(writer) - ago * each), false});
    } else {
      line.emplace_back(writer.expected, other);
    }
  }
  std::sort(line.begin(), line.end());
  if (line.size() > kMostPlanned) line.resize(kMostPlanned);
  const auto own = std::find(line.begin(), line.end(), std::pair(found->second.expected, name));
  if (own == line.end()) line.back() = {found->second.expected, name};
  for (const auto& [size, other] : line) wait.waiting.push_back({size, other == name});
  Plan beside = wait;
  std::erase_if(beside.waiting, [](const Plan::Entry& each_of) { return each_of.own; });
  beside.writing.push_back({found->second.expected, true});
  const std::uint32_t places = most();
  wait.run(rates_, places);
  beside.run(rates_, places);
  Outlook ahead;
  ahead.begins = std::min(wait.own_begins, kLongest);
  ahead.ends = std::min(wait.own_ends, kLongest);
  ahead.ends_beside = std::min(beside.own_ends, kLongest);
  ahead.gain = beside.sum - wait.sum;
  ahead.credit = credit(found->second);
  return ahead;
}

}  // namespace tutti::gate
