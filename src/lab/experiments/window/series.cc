#include "lab/experiments/window/series.h"

#include <utility>

namespace tutti {

std::size_t Series::add(Json parameters, const std::function<Scenario(std::uint64_t seed)>& make) {
  for (std::size_t i = 0; i < seeds_; ++i) {
    scenarios_.push_back(make(options_.seed + i));
    settle(scenarios_.back());
  }
  samples_.emplace_back();
  samples_.back().parameters = std::move(parameters);
  return samples_.size() - 1;
}

Matrix Series::add_matrix(
    const Json& parameters, Medium medium, const std::string& to_the_letter,
    const std::function<Scenario(const std::string& policy, std::uint64_t seed)>& make) {
  const auto add_one = [&](std::string_view column, const std::string& policy) {
    Json all = parameters;
    all["column"] = column;
    all["policy"] = policy;
    return add(std::move(all), [&](std::uint64_t seed) { return make(policy, seed); });
  };
  Matrix matrix;
  matrix.deep = add_one("fcfs 16", fcfs_deep());
  matrix.single = add_one("fcfs 1", fcfs_single());
  matrix.letter = add_one("letter", to_the_letter);
  matrix.window = add_one("window", default_window(medium));
  return matrix;
}

Status Series::run() {
  auto results = run_all(scenarios_, options_);
  if (!results.ok()) return results.status();
  for (std::size_t i = 0; i < results->size(); ++i) {
    Sample& sample = samples_[i / seeds_];
    const Scenario& scenario = scenarios_[i];
    ScenarioResult& result = (*results)[i];
    std::vector<double> each;
    for (std::size_t a = 0; a < result.applications.size(); ++a) {
      each.push_back(tutti::completion(result.applications[a]) /
                     static_cast<double>(scenario.applications[a].requests));
    }
    sample.completion.push_back(mean(each));
    sample.bandwidth.push_back(tutti::bandwidth(result));
    sample.spread.push_back(spread(result));
    sample.fairness.push_back(fairness(result));
    sample.results.push_back(std::move(result));
  }
  for (Sample& sample : samples_) {
    std::vector<const ScenarioResult*> all;
    for (const ScenarioResult& result : sample.results) all.push_back(&result);
    sample.p99 = tutti::p99(all);
  }
  return {};
}

Json Series::rows() const {
  Json rows = Json::array();
  for (const Sample& sample : samples_) {
    Json row = sample.parameters;
    row["completion"] = rounded(mean(sample.completion));
    row["completion_deviation"] = rounded(deviation(sample.completion));
    row["p99"] = rounded(sample.p99);
    row["jain"] = rounded(mean(sample.fairness));
    row["mib_per_second"] = rounded(mean(sample.bandwidth) / (1 << 20));
    row["spread"] = rounded(mean(sample.spread));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tutti
