// Series: points of an experiment, each simulated with several seeds, and what comes of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lab/experiments/window/testbed.h"

namespace tutti {

// One point, a value for each seed.
struct Sample {
  Json parameters;
  std::vector<double> completion;  // seconds, mean over applications, of one request of each process
  std::vector<double> bandwidth;   // bytes per second
  std::vector<double> spread;
  std::vector<ScenarioResult> results;
};

class Series {
 public:
  Series(const ExperimentOptions& options, std::size_t seeds) : options_(options), seeds_(seeds) {}

  // `make` is called once for each seed; the scenario it returns is settled here. Returns the number of the point.
  std::size_t add(Json parameters, const std::function<Scenario(std::uint64_t seed)>& make);
  Status run();

  [[nodiscard]] const Sample& operator[](std::size_t point) const { return samples_[point]; }
  [[nodiscard]] double completion(std::size_t point) const { return mean(samples_[point].completion); }
  [[nodiscard]] double bandwidth(std::size_t point) const { return mean(samples_[point].bandwidth); }
  [[nodiscard]] double reduction(std::size_t without, std::size_t with) const {
    return tutti::reduction(completion(without), completion(with));
  }
  // A row for each point: its parameters, completion and bandwidth with their deviation over the seeds.
  [[nodiscard]] Json rows() const;
  [[nodiscard]] std::size_t seeds() const { return seeds_; }

 private:
  const ExperimentOptions& options_;
  std::size_t seeds_;
  std::vector<Scenario> scenarios_;
  std::vector<Sample> samples_;
};

}  // namespace tutti
