#include "env/sim/device/queue.h"

#include <algorithm>
#include <utility>

namespace tutti {

namespace {
// A device that always takes the nearest request would let a far one wait for ever.
constexpr Nanos kDevicePatience = 400_ms;
}  // namespace

DeviceQueue::DeviceQueue(Clock& clock, std::unique_ptr<Device> device, std::unique_ptr<IoScheduler> scheduler)
    : clock_(clock), device_(std::move(device)), scheduler_(std::move(scheduler)), again_(*this) {}
DeviceQueue::~DeviceQueue() = default;

DeviceQueue::Job& DeviceQueue::submit(const IoDescription& what, std::coroutine_handle<> waiter, Job** back) {
  if (free_ == nullptr) {
    jobs_.push_back(std::make_unique<Job>(*this));
    free_ = jobs_.back().get();
  }
  Job& job = *std::exchange(free_, free_->next);
  const Nanos now = clock_.now();
  catch_up(now);
  job.what = what;
  job.arrival = now;
  job.order = ++next_order_;
  job.waiter = waiter;
  job.back = back;
  job.done_with = false;
  ++pending_;
  if (what.flush) {
    // A command of its own, which no scheduler holds back.
    job.accepted = now;
    accepted_.push_back(&job);
  } else {
    scheduler_->add(job, now);
  }
  dispatch(now);
  return job;
}

void DeviceQueue::end_stream(std::uint64_t stream) {
  catch_up(clock_.now());
  scheduler_->ended(stream);
  if (pending_ > 0) dispatch(clock_.now());
}

void DeviceQueue::Job::done(Timer* self) {
  auto& job = *static_cast<Job*>(self);
  job.queue.finish(job);
}

void DeviceQueue::Again::fire(Timer* self) {
  auto& again = *static_cast<Again*>(self);
  again.queue.dispatch(again.queue.clock_.now());
}

void DeviceQueue::finish(Job& job) {
  const std::coroutine_handle<> waiter = job.waiter;
  if (waiter) *job.back = nullptr;
  if (!job.done_with) complete(job);
  job.next = free_;
  free_ = &job;
  if (waiter) waiter.resume();
}

void DeviceQueue::complete(Job& job) {
  job.done_with = true;
  --pending_;
  std::erase(serving_, &job);
  if (serving_.empty()) statistics_.busy += job.due - busy_since_;
  if (!job.what.flush) scheduler_->completed(job, job.due);
  dispatch(job.due);
}

void DeviceQueue::catch_up(Nanos now) {
  const auto earlier = [](const Job* a, const Job* b) { return a->due < b->due; };
  while (!serving_.empty()) {
    Job& first = **std::min_element(serving_.begin(), serving_.end(), earlier);
    if (first.due >= now) return;
    complete(first);
  }
}

void DeviceQueue::accept(Nanos now) {
  again_.disarm();
  while (serving_.size() + accepted_.size() < device_->queue_depth()) {
    const IoScheduler::Choice choice = scheduler_->next(now);
    if (choice.request == nullptr) {
      if (choice.until != Nanos::max()) clock_.executor().arm(again_, choice.until);
      return;
    }
    accepted_.push_back(static_cast<Job*>(choice.request));
    accepted_.back()->accepted = now;
  }
}

void DeviceQueue::dispatch(Nanos now) {
  now = last_dispatch_ = std::max(now, last_dispatch_);
  accept(now);
  while (!accepted_.empty() && serving_.size() < device_->parallelism()) serve(pick(now), now);
}

DeviceQueue::Job& DeviceQueue::pick(Nanos now) {
  auto chosen = accepted_.begin();
  if (accepted_.size() > 1 && device_->parallelism() < device_->queue_depth()) {
    const auto oldest = std::min_element(accepted_.begin(), accepted_.end(), [](const Job* a, const Job* b) {
      return a->accepted != b->accepted ? a->accepted < b->accepted : a->order < b->order;
    });
    chosen = oldest;
    if ((*oldest)->accepted + kDevicePatience > now) {
      Nanos least = device_->estimate((*oldest)->what, now);
      for (auto each = accepted_.begin(); each != accepted_.end(); ++each) {
        const Nanos estimate = device_->estimate((*each)->what, now);
        if (estimate < least) {
          least = estimate;
          chosen = each;
        }
      }
    }
  }
  Job& job = **chosen;
  accepted_.erase(chosen);
  return job;
}

void DeviceQueue::serve(Job& job, Nanos now) {
  const Nanos start = std::max(now, job.arrival);
  last_dispatch_ = std::max(last_dispatch_, start);
  if (serving_.empty()) busy_since_ = start;
  serving_.push_back(&job);
  if (!job.what.flush) {
    (job.what.write ? statistics_.writes : statistics_.reads) += 1;
    (job.what.write ? statistics_.bytes_written : statistics_.bytes_read) += job.what.length;
  }
  job.due = device_->serve(job.what, start);
  clock_.executor().arm(job, job.due);
}

}  // namespace tutti
