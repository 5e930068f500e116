#include "lab/experiments/gate/job_mix.h"

#include <algorithm>

namespace tutti::gatelab {
namespace {

Nanos between(Random& random, Nanos low, Nanos high) {
  return low +
         Nanos(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>((high - low).count()) + 1)));
}

Nanos later(Nanos from, Nanos by) { return by >= Nanos::max() - from ? Nanos::max() : from + by; }

}  // namespace

std::vector<JobSpec> random_mix(std::uint32_t jobs, const MixRanges& ranges, Random random) {
  std::vector<JobSpec> mix;
  for (std::uint32_t i = 0; i < jobs; ++i) {
    JobSpec job;
    job.name = "job " + std::to_string(i + 1);
    job.checkpoints =
        static_cast<std::uint32_t>(random.between(ranges.checkpoints_low, ranges.checkpoints_high));
    job.compute = between(random, ranges.compute_low, ranges.compute_high) / job.checkpoints;
    job.checkpoint =
        Bytes(random.between(ranges.written_low.count(), ranges.written_high.count())) / job.checkpoints;
    job.cores = static_cast<std::uint32_t>(random.between(ranges.cores_low, ranges.cores_high));
    job.start = between(random, ranges.start_low, ranges.start_high);
    mix.push_back(std::move(job));
  }
  return mix;
}

void BatchQueue::submit(std::uint64_t job, std::uint32_t nodes, Nanos wall_limit) {
  waiting_.push_back({job, nodes, wall_limit});
}

void BatchQueue::ended(std::uint64_t job) {
  const auto found = running_.find(job);
  if (found == running_.end()) return;
  free_ += found->second.nodes;
  running_.erase(found);
}

void BatchQueue::begin(const Waiting& job, Nanos now, std::vector<std::uint64_t>& started) {
  free_ -= job.nodes;
  running_[job.job] = {job.nodes, later(now, job.wall_limit)};
  started.push_back(job.job);
}

std::vector<std::uint64_t> BatchQueue::start(Nanos now) {
  std::vector<std::uint64_t> started;
  while (!waiting_.empty() && waiting_.front().nodes <= free_) {
    begin(waiting_.front(), now, started);
    waiting_.erase(waiting_.begin());
  }
  if (waiting_.empty()) return started;
  // When the first fits, and how many nodes are left over then.
  std::vector<std::pair<Nanos, std::uint32_t>> ends;
  for (const auto& [job, running] : running_) ends.emplace_back(running.end, running.nodes);
  std::sort(ends.begin(), ends.end());
  std::uint32_t there = free_;
  Nanos reserved = Nanos::max();
  for (const auto& [end, nodes] : ends) {
    there += nodes;
    if (there < waiting_.front().nodes) continue;
    reserved = end;
    break;
  }
  std::uint32_t spare = reserved == Nanos::max() ? free_ : there - waiting_.front().nodes;
  for (auto each = std::next(waiting_.begin()); each != waiting_.end();) {
    const bool in_time = later(now, each->wall_limit) <= reserved;
    if (each->nodes > free_ || (!in_time && each->nodes > spare)) {
      ++each;
      continue;
    }
    if (!in_time) spare -= each->nodes;
    begin(*each, now, started);
    each = waiting_.erase(each);
  }
  return started;
}

}  // namespace tutti::gatelab
