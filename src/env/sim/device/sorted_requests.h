// Requests by address, for schedulers that sweep over the device.
#pragma once

#include <set>

#include "env/sim/device/scheduler.h"

namespace tutti {

struct ByAddress {
  bool operator()(const IoRequest* a, const IoRequest* b) const {
    return a->what.address != b->what.address ? a->what.address < b->what.address : a->order < b->order;
  }
};
struct ByArrival {
  bool operator()(const IoRequest* a, const IoRequest* b) const { return a->order < b->order; }
};

// Each request stands in both orders.
class SortedRequests {
 public:
  [[nodiscard]] bool empty() const { return by_address_.empty(); }
  void add(IoRequest& request) {
    by_address_.insert(&request);
    by_arrival_.insert(&request);
  }
  void remove(IoRequest& request) {
    by_address_.erase(&request);
    by_arrival_.erase(&request);
  }
  [[nodiscard]] IoRequest* oldest() const { return by_arrival_.empty() ? nullptr : *by_arrival_.begin(); }
  // The first at or after `position`; the lowest of all if there is none.
  [[nodiscard]] IoRequest* sweep(Bytes position) const {
    if (by_address_.empty()) return nullptr;
    IoRequest probe;
    probe.what.address = position;
    const auto found = by_address_.lower_bound(&probe);
    return found != by_address_.end() ? *found : *by_address_.begin();
  }

 private:
  std::set<IoRequest*, ByAddress> by_address_;
  std::set<IoRequest*, ByArrival> by_arrival_;
};

}  // namespace tutti
