// coord-field: the request policies that the field knows, and ours, over a common set of mixes.
//
// `auto` begins as the default `window` and has to find out whether `fcfs` is better; its regret is its mean stretch over that
// of the best of its choices, had it been fixed from the start. Most mixes are over before it can try; the random reads last
// three minutes on disks, and there `window` loses: a disk that has 16 requests of 256 KiB to choose from saves seeks.
//
// Stretch is the time that an application takes over the time that it takes alone (under fcfs). Policies have the defaults of
// their originals, but for `tbf`, which gets each application's even share of what the device can do as its rate.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/experiments/experiment.h"
#include "lab/experiments/window/series.h"

namespace tutti {
namespace {

constexpr std::uint32_t kServers = 8;

ApplicationSpec spec(std::uint32_t processes, Bytes request, std::uint64_t requests) {
  ApplicationSpec made;
  made.processes = processes;
  made.request = request;
  made.requests = requests;
  return made;
}

void bursts(Scenario& scenario) { add_applications(scenario, spec(4, 1_MiB, 1), 10); }

void loops(Scenario& scenario) {
  ApplicationSpec loop = spec(8, 256_KiB, 16);
  loop.barrier = true;
  loop.layout.stripe_size = 4_KiB;
  add_applications(scenario, loop, 8);
}

void checkpoints(Scenario& scenario) {
  ApplicationSpec checkpoint = spec(8, 4_MiB, 4);
  checkpoint.write = true;
  checkpoint.barrier = true;
  checkpoint.think = 200_ms;
  add_applications(scenario, checkpoint, 3);
  ApplicationSpec analysis = spec(4, 64_KiB, 64);
  analysis.pattern = AccessPattern::random;
  add_applications(scenario, analysis, 3);
}

void small_and_large(Scenario& scenario) {
  add_applications(scenario, spec(1, 64_KiB, 32), 6);
  add_applications(scenario, spec(8, 4_MiB, 4), 2);
}

void imbalanced(Scenario& scenario) {
  Random random(mix64(scenario.cluster.seed + 5));
  for (int i = 0; i < 10; ++i) {
    ApplicationSpec each =
        spec(static_cast<std::uint32_t>(random.between(1, 8)), 512_KiB * random.between(1, 8), 4);
    each.layout.stripe_count = static_cast<std::uint32_t>(random.between(1, kServers));
    each.layout.first_server = static_cast<std::int32_t>(random.below(kServers));
    add_applications(scenario, each, 1);
  }
}

// Each request is of one server.
void random_reads(Scenario& scenario) {
  ApplicationSpec reads = spec(4, 256_KiB, 3072);
  reads.pattern = AccessPattern::random;
  reads.layout.stripe_size = 1_MiB;
  add_applications(scenario, reads, 6);
}

struct Mix {
  std::string_view name;
  void (*add)(Scenario& scenario);
};
constexpr Mix kMixes[] = {{"bursts", bursts},
                          {"loops", loops},
                          {"checkpoints and analysis", checkpoints},
                          {"small and large", small_and_large},
                          {"imbalanced", imbalanced},
                          {"random reads", random_reads}};

std::vector<std::string> competitors(Medium medium) {
  // Requests a second that a device serves of these sizes, shared by ten.
  const int rate = medium == Medium::hdd ? 20 : 600;
  return {"fcfs", fmt::format("tbf;rate={}", rate), "orr", "twins", "io_sets", "themis"};
}

std::vector<std::string> ours(Medium medium) {
  return {default_window(medium), default_window(medium) + ";order=rotated", default_auto(medium)};
}

Scenario make(const Mix& mix, Medium medium, const std::string& policy, std::uint64_t seed) {
  Scenario scenario = make_testbed(medium, kServers, policy, seed);
  mix.add(scenario);
  scenario.cluster.coordinated = policy == default_auto(medium);
  return scenario;
}

// Each application's time alone, by seed.
Result<std::vector<std::vector<double>>> alone(const Mix& mix, Medium medium,
                                               const ExperimentOptions& options, std::size_t seeds) {
  std::vector<Scenario> scenarios;
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < seeds; ++i) {
    Scenario all = make(mix, medium, fcfs_deep(), options.seed + i);
    settle(all);
    counts.push_back(all.applications.size());
    for (const ApplicationSpec& application : all.applications) {
      scenarios.push_back(all);
      scenarios.back().applications = {application};
    }
  }
  ExperimentOptions quiet = options;
  quiet.progress = nullptr;
  const auto results = run_all(scenarios, quiet);
  if (!results.ok()) return results.status();
  std::vector<std::vector<double>> times;
  std::size_t next = 0;
  for (const std::size_t count : counts) {
    times.emplace_back();
    for (std::size_t i = 0; i < count; ++i)
      times.back().push_back(completion((*results)[next++].applications.front()));
  }
  return times;
}

struct Stretch {
  double mean = 0;
  double most = 0;
  double jain = 0;
};

Stretch stretch(const Sample& sample, const std::vector<std::vector<double>>& alone) {
  std::vector<double> means;
  std::vector<double> most;
  std::vector<double> fair;
  for (std::size_t seed = 0; seed < sample.results.size(); ++seed) {
    std::vector<double> each;
    for (std::size_t i = 0; i < alone[seed].size(); ++i) {
      each.push_back(completion(sample.results[seed].applications[i]) / alone[seed][i]);
    }
    means.push_back(mean(each));
    most.push_back(*std::max_element(each.begin(), each.end()));
    fair.push_back(jain(each));
  }
  return {mean(means), mean(most), mean(fair)};
}

// One mix on one medium: mean stretch of ours over the best competitor's, and of `auto` over the best of its choices.
struct Standing {
  double window = 0;
  double automatic = 0;
  double regret = 0;
};

Result<Standing> run_mix(const Mix& mix, Medium medium, const ExperimentOptions& options, std::size_t seeds,
                         Report& report) {
  const auto times = alone(mix, medium, options, seeds);
  if (!times.ok()) return times.status();
  Series series(options, seeds);
  std::vector<std::string> policies = competitors(medium);
  const std::size_t field = policies.size();
  for (const std::string& own : ours(medium)) policies.push_back(own);
  for (const std::string& policy : policies) {
    series.add({{"mix", mix.name}, {"medium", medium_name(medium)}, {"policy", policy}},
               [&](std::uint64_t seed) { return make(mix, medium, policy, seed); });
  }
  TUTTI_TRY(series.run());
  Json rows = series.rows();
  std::vector<double> means;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Stretch found = stretch(series[i], *times);
    rows[i]["mean_stretch"] = rounded(found.mean);
    rows[i]["max_stretch"] = rounded(found.most);
    rows[i]["jain_of_stretch"] = rounded(found.jain);
    means.push_back(found.mean);
  }
  const double best = *std::min_element(means.begin(), means.begin() + static_cast<std::ptrdiff_t>(field));
  const double window = means[field];
  const double automatic = means[field + 2];
  const Standing standing{window / best, automatic / best,
                          automatic / std::min({means[0], window, means[field + 1]}) - 1};
  rows.back()["regret"] = rounded(standing.regret);
  for (const Json& row : rows) report.rows.push_back(row);
  return standing;
}

Result<Report> run(const ExperimentOptions& options) {
  Report report;
  const std::size_t seeds = options.quick ? 1 : 3;
  report.settings = testbed_settings(seeds) + fmt::format("; {} servers", kServers);
  Standing worst;
  std::size_t best_in = 0;
  std::size_t mixes = 0;
  for (const Medium medium : {Medium::hdd, Medium::ssd}) {
    for (const Mix& mix : kMixes) {
      if (options.quick && mix.name != "bursts") continue;
      const auto found = run_mix(mix, medium, options, seeds, report);
      if (!found.ok()) return found.status();
      worst = {std::max(worst.window, found->window), std::max(worst.automatic, found->automatic),
               std::max(worst.regret, found->regret)};
      best_in += found->automatic <= 1.0 ? 1 : 0;
      ++mixes;
    }
  }
  report.figure("worst_over_best", rounded(worst.automatic), {}, "<= 1.05");
  report.figure("window_worst_over_best", rounded(worst.window));
  report.figure("auto_worst_regret", rounded(worst.regret), {}, "<= 0.05");
  report.figure("mixes_at_most_best", best_in);
  report.figure("mixes", mixes);
  report.notes.push_back(
      "worst_over_best: mean stretch under auto over that under the best of fcfs and the competitors, in the "
      "worst mix; "
      "window_worst_over_best: the same for window alone. auto_worst_regret: mean stretch under auto over "
      "that under the "
      "best of its choices if fixed, minus one. io_sets learns what it orders by from the requests; it has "
      "only "
      "seconds for that here.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::coord_field = {
    "coord-field", "the field's request policies and ours over a common set of mixes", run};

}  // namespace tutti
