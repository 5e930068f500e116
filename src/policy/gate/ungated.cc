#include "policy/gate/ungated.h"

#include <algorithm>

namespace tutti::gate {

void Ungated::ask(std::uint64_t name, double size, Nanos now) {
  run(now);
  Job& job = jobs_[name];
  job.size = size;
  if (job.asked > 0 && !job.writes) job.compute = (now - job.ended).seconds();
  job.writes = true;
  ++job.asked;
  if (job.asked > job.done + kBehind) job.done = job.asked - kBehind;
  if (job.phase == Phase::idle && job.done < job.asked) begin(name, job, now);
}

void Ungated::end(std::uint64_t name, Nanos now) {
  run(now);
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return;
  found->second.ended = now;
  found->second.writes = false;
  // Until a rate is known nobody waits here, and both worlds are the same.
  if (!rates_.known() && found->second.phase == Phase::writing) finish(name, found->second, now);
}

void Ungated::leave(std::uint64_t name, Nanos now) {
  run(now);
  const auto found = jobs_.find(name);
  if (found == jobs_.end()) return;
  writing_.erase({found->second.tag, name});
  computing_.erase({found->second.due, name});
  jobs_.erase(found);
}

void Ungated::restart(Nanos now) {
  run(now);
  writing_.clear();
  computing_.clear();
  for (auto& [name, job] : jobs_) {
    job.seconds = 0;
    job.count = 0;
    job.done = job.asked;
    job.phase = Phase::idle;
    if (!job.writes) continue;
    --job.done;
    begin(name, job, now);
  }
}

double Ungated::mean(std::uint64_t name) const {
  const auto found = jobs_.find(name);
  return found == jobs_.end() || found->second.count <= 0 ? 0 : found->second.seconds / found->second.count;
}

void Ungated::begin(std::uint64_t name, Job& job, Nanos when) {
  job.phase = Phase::writing;
  job.began = when;
  job.tag = attained_ + job.size;
  writing_.emplace(job.tag, name);
}

void Ungated::finish(std::uint64_t name, Job& job, Nanos when) {
  writing_.erase({job.tag, name});
  ++job.done;
  job.seconds = job.seconds * kMemory + (when - job.began).seconds();
  job.count = job.count * kMemory + 1;
  job.phase = Phase::idle;
  if (job.compute < 0 || job.done > job.asked) {
    if (job.done < job.asked) begin(name, job, when);
    return;
  }
  job.phase = Phase::computing;
  job.due = when + Nanos::from_seconds(job.compute);
  computing_.emplace(job.due, name);
}

void Ungated::run(Nanos now) {
  while (now_ < now) {
    Nanos next = now;
    bool ends = false;
    const double each =
        rates_.per_writer(static_cast<std::uint32_t>(std::min<std::size_t>(writing_.size(), Rates::kMost)));
    if (!writing_.empty() && each > 0) {
      const double seconds = std::max(0.0, writing_.begin()->first - attained_) / each;
      if (seconds < (next - now_).seconds()) {
        next = now_ + Nanos::from_seconds(seconds);
        ends = true;
      }
    }
    if (!computing_.empty() && computing_.begin()->first < next) {
      next = std::max(now_, computing_.begin()->first);
      ends = false;
    }
    attained_ += each * (next - now_).seconds();
    now_ = next;
    if (ends) {
      const auto [tag, name] = *writing_.begin();
      attained_ = std::max(attained_, tag);
      finish(name, jobs_.at(name), now_);
    }
    while (!computing_.empty() && computing_.begin()->first <= now_) {
      const std::uint64_t name = computing_.begin()->second;
      computing_.erase(computing_.begin());
      begin(name, jobs_.at(name), now_);
    }
  }
}

}  // namespace tutti::gate
