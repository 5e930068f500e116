// DeadlineScheduler: see scheduler.h.
#pragma once

#include <array>

#include "env/sim/device/sorted_requests.h"

namespace tutti {

class DeadlineScheduler final : public IoScheduler {
 public:
  explicit DeadlineScheduler(const SchedulerOptions& options) : options_(options) {}

  [[nodiscard]] std::string_view name() const override { return "deadline"; }
  void add(IoRequest& request, Nanos now) override;
  Choice next(Nanos now) override;
  void completed(const IoRequest& /*request*/, Nanos /*now*/) override {}

 private:
  void begin_batch(Nanos now);

  SchedulerOptions options_;
  std::array<SortedRequests, 2> queues_;  // reads, writes
  std::size_t direction_ = 0;
  std::uint32_t left_in_batch_ = 0;
  std::uint32_t starved_ = 0;
  Bytes position_;
};

}  // namespace tutti
