#include "env/sim/device/scheduler.h"

#include <deque>
#include <string>

#include "env/sim/device/anticipatory.h"
#include "env/sim/device/deadline.h"

namespace tutti {

namespace {

class FifoScheduler final : public IoScheduler {
 public:
  [[nodiscard]] std::string_view name() const override { return "none"; }
  void add(IoRequest& request, Nanos /*now*/) override { queue_.push_back(&request); }
  Choice next(Nanos /*now*/) override {
    if (queue_.empty()) return {};
    IoRequest* first = queue_.front();
    queue_.pop_front();
    return {first, Nanos::max()};
  }
  void completed(const IoRequest& /*request*/, Nanos /*now*/) override {}

 private:
  std::deque<IoRequest*> queue_;
};

}  // namespace

Result<std::unique_ptr<IoScheduler>> make_io_scheduler(std::string_view name,
                                                       const SchedulerOptions& options) {
  std::unique_ptr<IoScheduler> scheduler;
  if (name == "none") scheduler = std::make_unique<FifoScheduler>();
  if (name == "deadline") scheduler = std::make_unique<DeadlineScheduler>(options);
  if (name == "anticipatory") scheduler = std::make_unique<AnticipatoryScheduler>(options);
  if (!scheduler) {
    return Status(Code::invalid,
                  "device scheduler " + std::string(name) + ": choose none, deadline or anticipatory");
  }
  return scheduler;
}

}  // namespace tutti
