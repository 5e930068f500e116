// Series: points of an experiment, each simulated with several seeds, and what comes of them.
#pragma once

#include <algorithm>
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
  std::vector<double> fairness;
  double p99 = 0;  // of all requests of all seeds
  std::vector<ScenarioResult> results;
};

// One point under each of the policies that every experiment compares; see testbed.h. Numbers of samples.
struct Matrix {
  std::size_t deep = 0;
  std::size_t single = 0;
  std::size_t letter = 0;
  std::size_t window = 0;  // the default
};

class Series {
 public:
  Series(const ExperimentOptions& options, std::size_t seeds) : options_(options), seeds_(seeds) {}

  // `make` is called once for each seed; the scenario it returns is settled here. Returns the number of the point.
  std::size_t add(Json parameters, const std::function<Scenario(std::uint64_t seed)>& make);
  // The same for the four policies; `to_the_letter` with the interval that the experiment has.
  Matrix add_matrix(const Json& parameters, Medium medium, const std::string& to_the_letter,
                    const std::function<Scenario(const std::string& policy, std::uint64_t seed)>& make);
  Status run();

  [[nodiscard]] const Sample& operator[](std::size_t point) const { return samples_[point]; }
  [[nodiscard]] double completion(std::size_t point) const { return mean(samples_[point].completion); }
  [[nodiscard]] double bandwidth(std::size_t point) const { return mean(samples_[point].bandwidth); }
  [[nodiscard]] double reduction(std::size_t without, std::size_t with) const {
    return tutti::reduction(completion(without), completion(with));
  }
  // What the default saves of the better of the two baselines.
  [[nodiscard]] double default_reduction(const Matrix& matrix) const {
    return tutti::reduction(std::min(completion(matrix.deep), completion(matrix.single)),
                            completion(matrix.window));
  }
  // A row for each point: its parameters, completion with its deviation over the seeds, p99, bandwidth, fairness.
  [[nodiscard]] Json rows() const;
  [[nodiscard]] std::size_t seeds() const { return seeds_; }

 private:
  const ExperimentOptions& options_;
  std::size_t seeds_;
  std::vector<Scenario> scenarios_;
  std::vector<Sample> samples_;
};

}  // namespace tutti
