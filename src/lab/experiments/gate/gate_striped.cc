// gate-striped: figures 3.1 and 3.5. Three jobs on four servers, two each; and jobs that could starve one between them.
#include <algorithm>

#include "lab/experiments/gate/testbed.h"
#include "lab/experiments/window/testbed.h"

namespace tutti {
namespace {

using namespace gatelab;

constexpr Nanos kLimit = 30_s;

// One checkpoint each, asked for a second apart: A1 on servers 0 and 1, A2 on 1 and 2, A3 on 2 and 3.
std::vector<JobSpec> three_jobs(std::uint64_t /*seed*/) {
  std::vector<JobSpec> jobs(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    jobs[i].name = "A" + std::to_string(i + 1);
    jobs[i].compute = 10_s;
    jobs[i].start = Nanos(static_cast<std::int64_t>(i) * 6'000'000'000);
    jobs[i].checkpoint = Bytes(3'000'000'000);
    jobs[i].servers = {i, i + 1};
  }
  return jobs;
}

// Jobs like A1 and A3 in turns without end, so that one of A2's servers is always held.
std::vector<JobSpec> starving(std::uint64_t seed) {
  Random random(seed * 31);
  std::vector<JobSpec> jobs;
  for (std::uint32_t i = 0; i < 7; ++i) {
    JobSpec& job = jobs.emplace_back();
    const bool middle = i == 6;
    job.name = middle ? "A2" : (i % 2 == 0 ? "A1." : "A3.") + std::to_string(i / 2 + 1);
    job.compute = middle ? 60_s : 8_s;
    job.checkpoint = Bytes(1'000'000'000);
    job.checkpoints = middle ? 3 : 8;
    job.start = Nanos(static_cast<std::int64_t>(random.below(20'000'000'000)));
    job.servers = middle ? std::vector<std::uint32_t>{1, 2}
                         : (i % 2 == 0 ? std::vector<std::uint32_t>{0, 1} : std::vector<std::uint32_t>{2, 3});
  }
  return jobs;
}

// When each job's write began and ended.
std::vector<std::pair<Nanos, Nanos>> writes(const RunResult& run) {
  std::vector<std::pair<Nanos, Nanos>> all(run.jobs.size());
  for (const Phase& phase : run.phases) {
    if (phase.kind == PhaseKind::write) all[phase.job] = {phase.begin, phase.end};
  }
  return all;
}

bool together(const std::pair<Nanos, Nanos>& a, const std::pair<Nanos, Nanos>& b) {
  return a.first < b.second && b.first < a.second;
}

Result<Report> run(const ExperimentOptions& options) {
  Report report;
  const StorageMaker storage = paper_storage(4);
  report.settings = settings(1, backoff_options(paper_storage())) + "; four such servers";
  add_efficiency(report, paper_storage());
  const std::vector<Method> methods = {Method::nothing, Method::backoff, Method::lock,
                                       Method::lock_overtaking, Method::gate};
  const auto limited = [](RunOptions& each) { each.most_blocked = kLimit; };
  const std::vector<Column> three = run_columns(options, methods, 1, storage, three_jobs, limited);
  add_rows(report, {{"load", "figures 3.1 and 3.5"}}, three);
  const auto preserved = writes(column(three, Method::lock).runs[0]);
  const auto overtaking = writes(column(three, Method::lock_overtaking).runs[0]);
  const auto probed = writes(column(three, Method::backoff).runs[0]);
  // 3.5 (a): one after the other. 3.5 (b) and 3.1: A1 and A3 write at once, A2 after A1.
  const bool in_order =
      preserved[0].second <= preserved[1].first && preserved[1].second <= preserved[2].first;
  const bool overtaken =
      together(overtaking[0], overtaking[2]) && overtaking[0].second <= overtaking[1].first;
  const bool backed_off = together(probed[0], probed[2]) && probed[0].second <= probed[1].first;
  report.figure("grants_as_in_figure", in_order && overtaken && backed_off, {}, "true");
  report.figure("order_preserved", in_order);
  report.figure("order_not_preserved", overtaken);
  report.figure("backoff_as_in_figure", backed_off);
  for (const Column& each : three) {
    report.figure("utilization_" + each.name,
                  rounded(each.mean([](const RunResult& r) { return r.busy / (4 * r.makespan); })));
    add_picture(report, "gate-striped", each, three_jobs(1));
  }
  const std::size_t seeds = options.quick ? 1 : 5;
  const std::vector<Column> many =
      run_columns(options, {Method::nothing, Method::lock, Method::lock_overtaking, Method::gate}, seeds,
                  storage, starving, limited);
  add_rows(report, {{"load", "A2 between many"}}, many);
  double longest = 0;
  for (const RunResult& each : column(many, Method::lock_overtaking).runs) {
    longest = std::max(longest, each.longest_wait);
  }
  report.figure("longest_wait_over_limit", rounded(longest / kLimit.seconds()), {}, "<= 1.0");
  report.figure("passed", rounded(column(many, Method::lock_overtaking).mean([](const RunResult& each) {
                  return static_cast<double>(each.passed);
                })));
  for (const Column& each : many) {
    report.figure("utilization_many_" + each.name,
                  rounded(each.mean([](const RunResult& r) { return r.busy / (4 * r.makespan); })));
  }
  report.notes.push_back(
      "longest_wait_over_limit is taken at the lock server; a job that reaches the limit of 30 s goes on "
      "without a grant (passed).");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::gate_striped = {
    "gate-striped", "three jobs on four servers: who is granted when, with and without order", run};

}  // namespace tutti
