// What first principles say of the orders, and whether the simulation agrees: part of target-synthetic.
//
// Processors cost nothing, blocks take the same time everywhere, clients begin together. With m blocks for each of c clients on
// n servers, all c clients stand in line at the first server with `first`, and the last one begins c - 1 blocks late.
#pragma once

#include <string>
#include <vector>

#include "lab/experiments/target/nodes.h"

namespace tutti {

class Principles {
 public:
  // Adds its points.
  Principles(TargetSeries& series, bool quick);
  // After series.run().
  void tell(const TargetSeries& series, Report& report) const;

 private:
  struct Law {
    std::string name;
    std::size_t point = 0;
    std::size_t against = 0;  // `hash` with as many clients
    double expected = 0;
  };
  std::vector<Law> laws_;
  std::size_t equal_links_ = 0;  // eight in flight where the clients' cards are no faster than the servers'
  std::size_t hash_ = 0;
};

}  // namespace tutti
