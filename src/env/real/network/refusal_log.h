// RefusalLog: tells of each peer that was turned away once per cause, however often it comes back, and of no
// more than a few in a second, however many they are.
#pragma once

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "base/units.h"

namespace tutti {

class RefusalLog {
 public:
  explicit RefusalLog(Log log) : log_(std::move(log)) {}

  // Whether a line was written. `peer` is an address without port, or a user.
  bool refused(const std::string& where, const std::string& peer, const Status& why, Nanos now);

 private:
  using Known = std::pair<std::string, Code>;
  static constexpr std::size_t kMostKnown = 1024;
  static constexpr int kLinesPerSecond = 10;

  Log log_;
  std::set<Known> known_;
  std::deque<Known> order_;  // oldest first
  Nanos second_;             // when the current second began
  int lines_ = 0;            // in it
  std::size_t unsaid_ = 0;
};

}  // namespace tutti
