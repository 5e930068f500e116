// Figures 2, 5 and 6: two instances of each benchmark, reading and writing.
#pragma once

#include <map>
#include <utility>

#include "lab/experiments/orchestra/testbed.h"

namespace tutti::orchestra {

struct HomogeneousLoad {
  bool barrier = true;
  bool collective = false;
  bool streams = false;  // also what CFQ takes for a stream
};

class Homogeneous {
 public:
  Homogeneous(const ExperimentOptions& options, HomogeneousLoad load);
  Status run() { return points_.run(); }

  [[nodiscard]] double gain(Benchmark benchmark, bool write) const {
    return points_.gain(at(benchmark, write));
  }
  // Over all points.
  [[nodiscard]] double mean_gain() const;
  [[nodiscard]] double mean_gain_of(bool write) const;
  [[nodiscard]] double largest_gain() const;
  [[nodiscard]] std::size_t at(Benchmark benchmark, bool write) const {
    return numbers_.at({benchmark, write});
  }
  [[nodiscard]] bool has(Benchmark benchmark, bool write) const {
    return numbers_.contains({benchmark, write});
  }
  [[nodiscard]] const Points& points() const { return points_; }
  // What all three reports have: settings, rows, baselines, checks.
  [[nodiscard]] Report report() const;

 private:
  HomogeneousLoad load_;
  Points points_;
  std::map<std::pair<Benchmark, bool>, std::size_t> numbers_;
  RunSpec like_;
};

}  // namespace tutti::orchestra
