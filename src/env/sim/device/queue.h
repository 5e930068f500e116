// DeviceQueue: a device model with its scheduler on a Clock.
//
// io() takes as long as the scheduler and the device make it take. Works in virtual and in real time: what
// follows on a request starts at the moment that one was due, even if the timer came late, so lateness does
// not add up; and the device chooses it among what had come by then, not among what came while the timer was late. Nothing is
// polled. One thread.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <vector>

#include "env/clock.h"
#include "env/executor.h"
#include "env/sim/device/device.h"
#include "env/sim/device/scheduler.h"

namespace tutti {

struct DeviceStatistics {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  Bytes bytes_read;
  Bytes bytes_written;
  Nanos busy;  // time with at least one request in the device
};

class DeviceQueue {
  struct Job;

 public:
  DeviceQueue(Clock& clock, std::unique_ptr<Device> device, std::unique_ptr<IoScheduler> scheduler);
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;
  ~DeviceQueue();

  // Awaitable: ends when the device has done it. A destroyed waiter leaves the request to the device, which
  // does it all the same.
  auto io(const IoDescription& what) {
    struct Awaiter {
      Awaiter(DeviceQueue& queue, const IoDescription& what) : queue(queue), what(what) {}
      Awaiter(const Awaiter&) = delete;
      Awaiter& operator=(const Awaiter&) = delete;
      ~Awaiter() {
        if (job != nullptr) queue.forget(*job);
      }
      DeviceQueue& queue;
      IoDescription what;
      Job* job = nullptr;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> handle) { job = &queue.submit(what, handle, &job); }
      void await_resume() const {}
    };
    return Awaiter(*this, what);
  }

  // Nothing more comes of the stream.
  void end_stream(std::uint64_t stream);

  [[nodiscard]] Device& device() { return *device_; }
  [[nodiscard]] const DeviceStatistics& statistics() const { return statistics_; }
  [[nodiscard]] Motion motion() const { return device_->motion(); }
  // Requests that have not been done.
  [[nodiscard]] std::size_t pending() const { return pending_; }

 private:
  struct Job : Timer, IoRequest {
    explicit Job(DeviceQueue& owner) : Timer(&done), queue(owner) {}
    static void done(Timer* self);
    DeviceQueue& queue;
    Nanos accepted;  // by the device
    Nanos due;
    bool done_with = false;  // by the device; its timer has not fired yet
    std::coroutine_handle<> waiter;
    Job** back = nullptr;  // in the waiter: cleared when the job is over
    Job* next = nullptr;   // free list
  };
  struct Again : Timer {
    explicit Again(DeviceQueue& owner) : Timer(&fire), queue(owner) {}
    static void fire(Timer* self);
    DeviceQueue& queue;
  };
  Job& submit(const IoDescription& what, std::coroutine_handle<> waiter, Job** back);
  static void forget(Job& job) { job.waiter = nullptr; }
  void finish(Job& job);
  // The device is done with it, and goes on.
  void complete(Job& job);
  // Whatever was due before `now`: in virtual time there is nothing.
  void catch_up(Nanos now);
  void dispatch(Nanos now);
  void accept(Nanos now);
  Job& pick(Nanos now);
  void serve(Job& job, Nanos now);

  Clock& clock_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<IoScheduler> scheduler_;
  std::vector<std::unique_ptr<Job>> jobs_;
  Job* free_ = nullptr;
  std::vector<Job*> accepted_;  // in the device, not begun
  std::vector<Job*> serving_;
  std::size_t pending_ = 0;
  std::uint64_t next_order_ = 0;
  Nanos last_dispatch_;
  Nanos busy_since_;
  DeviceStatistics statistics_;
  Again again_;
};

}  // namespace tutti
