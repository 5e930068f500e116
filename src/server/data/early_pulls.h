// EarlyPulls: small writes whose bytes are pulled while they wait in the queue, so that a server that serves one request
// at a time does not wait for the network between two small ones. How much is held in this way is bounded.
#pragma once

#include "base/units.h"
#include "server/data/transfer.h"

namespace tutti {

class EarlyPulls {
 public:
  // Whether the write may be pulled now; if so it has the place for its bytes.
  bool begin(Transfer& transfer, Executor& executor) {
    if (transfer.length > kLargest || held_ + transfer.length > kMost) return false;
    held_ += transfer.length;
    transfer.inside.resize(transfer.length.count());
    transfer.pulled.emplace(executor);
    return true;
  }
  // The transfer goes, with its bytes.
  void end(const Transfer& transfer) {
    if (transfer.pulled) held_ -= transfer.length;
  }

 private:
  static constexpr Bytes kLargest = 16_KiB;
  static constexpr Bytes kMost = 16_MiB;
  Bytes held_;
};

}  // namespace tutti
