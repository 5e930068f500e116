// IoScheduler: the order in which an operating system hands requests to a device.
//
// Pure: told of requests and asked next(now), which answers one to dispatch, or how long to wait for a better
// one. It never owns a request: one stands in the scheduler from add() until next() returns it.
//
//   none          first come, first served
//   deadline      by address in one direction (C-SCAN), reads before writes, nobody waits past an expiry; the
//                 constants of Linux' deadline scheduler
//   anticipatory  per stream, in slices of time, and waits a little for the next request of the same stream
//                 before it turns to another, as Linux' CFQ does
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "base/units.h"
#include "env/sim/device/device.h"

namespace tutti {

// A request in a scheduler or a device.
struct IoRequest {
  IoDescription what;
  Nanos arrival;
  std::uint64_t order = 0;  // of arrival: breaks ties
};

class IoScheduler {
 public:
  // Dispatch `request`; or, if there is none, ask again at `until` or when something changes.
  struct Choice {
    IoRequest* request = nullptr;
    Nanos until = Nanos::max();
  };

  IoScheduler() = default;
  IoScheduler(const IoScheduler&) = delete;
  IoScheduler& operator=(const IoScheduler&) = delete;
  virtual ~IoScheduler() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  virtual void add(IoRequest& request, Nanos now) = 0;
  virtual Choice next(Nanos now) = 0;
  // The device has done one that next() returned.
  virtual void completed(const IoRequest& request, Nanos now) = 0;
  // Nothing more comes of the stream: nobody need wait for it.
  virtual void ended(std::uint64_t /*stream*/) {}
};

struct SchedulerOptions {
  // deadline
  Nanos read_expire = 500_ms;
  Nanos write_expire = 5_s;
  std::uint32_t batch = 16;          // requests in a row before expiries are looked at
  std::uint32_t writes_starved = 2;  // batches of reads before one of writes
  // anticipatory
  Nanos slice = 100_ms;            // of a stream somebody waits for
  Nanos background_slice = 40_ms;  // of all background requests together
  Nanos idle = 8_ms;               // how long to wait for a stream's next request
};

// Code::invalid for a name that is not in the list above.
Result<std::unique_ptr<IoScheduler>> make_io_scheduler(std::string_view name,
                                                       const SchedulerOptions& options = {});

}  // namespace tutti
