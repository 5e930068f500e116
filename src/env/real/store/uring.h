// Uring: io_uring with its completions delivered by the loop.
//
// An operation that is destroyed while it waits is cancelled; what it keeps alive (its buffer) is released
// when the kernel has let go of it, not before. Operations of one turn of the loop are submitted together.
#pragma once

#include <liburing.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "env/real/file_descriptor.h"
#include "env/real/loop/loop.h"
#include "env/scope.h"

namespace tutti {

class Uring {
 public:
  // Code::unsupported where the kernel or a sandbox does not allow it.
  static Result<std::unique_ptr<Uring>> open(Loop& loop);
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;
  // Waits until the kernel has let go of everything.
  ~Uring();

 private:
  // In the hands of its awaiter until it is done, of the kernel's completion if the awaiter went before.
  struct Operation {
    Resume resume;
    int result = 0;
    bool done = false;
    bool abandoned = false;
    std::shared_ptr<void> kept;
  };
  // co_await gives the result of the system call: a count or -errno.
  class Awaiter {
   public:
    Awaiter(Uring& uring, std::unique_ptr<Operation> operation)
        : uring_(uring), operation_(std::move(operation)) {}
    Awaiter(const Awaiter&) = delete;
    Awaiter& operator=(const Awaiter&) = delete;
    ~Awaiter() {
      if (!operation_->done) uring_.abandon(operation_.release());
    }
    [[nodiscard]] bool await_ready() const { return operation_->done; }
    void await_suspend(std::coroutine_handle<> awaiting) { operation_->resume.handle = awaiting; }
    [[nodiscard]] int await_resume() const { return operation_->result; }

   private:
    Uring& uring_;
    std::unique_ptr<Operation> operation_;
  };

 public:
  // The descriptor must stay open until the operation has been submitted: until the end of this turn.
  Awaiter read(int fd, std::span<std::byte> into, std::uint64_t offset, std::shared_ptr<void> kept);
  Awaiter write(int fd, std::span<const std::byte> from, std::uint64_t offset, std::shared_ptr<void> kept);
  // Brings the inode into memory; what it says is thrown away.
  Awaiter stat(std::string path);
  // The kernel begins to read into its page cache.
  Awaiter fetch(int fd, std::uint64_t offset, std::uint64_t length, std::shared_ptr<void> kept);
  Awaiter fsync(int fd, bool data_only, std::shared_ptr<void> kept);

 private:
  explicit Uring(Loop& loop) : loop_(loop), submit_(this), scope_(loop.executor()) {}
  struct Submit : Ready {
    explicit Submit(Uring* uring) : Ready(&run), uring(uring) {}
    static void run(Ready* self) { io_uring_submit(&static_cast<Submit*>(self)->uring->ring_); }
    Uring* uring;
  };
  io_uring_sqe* next_entry();
  Awaiter start(io_uring_sqe* entry, std::shared_ptr<void> kept);
  void abandon(Operation* operation);
  Task<void> reap_when_signalled();
  void reap();

  Loop& loop_;
  io_uring ring_{};
  bool ring_open_ = false;
  FileDescriptor event_;
  FdWatch watch_;
  std::size_t in_flight_ = 0;
  Submit submit_;
  Scope scope_;
};

}  // namespace tutti
