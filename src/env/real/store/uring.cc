#include "env/real/store/uring.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace tutti {
namespace {

constexpr unsigned kEntries = 256;
// One system call moves at most this much anyway.
constexpr std::size_t kMostBytes = 1U << 30U;

unsigned clamp_length(std::size_t length) { return static_cast<unsigned>(std::min(length, kMostBytes)); }

}  // namespace

Result<std::unique_ptr<Uring>> Uring::open(Loop& loop) {
  std::unique_ptr<Uring> uring(new Uring(loop));
  if (const int error = io_uring_queue_init(kEntries, &uring->ring_, 0); error < 0) {
    return Status(Code::unsupported, Status::from_errno(-error, "set up io_uring").message());
  }
  uring->ring_open_ = true;
  uring->event_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!uring->event_.valid()) return Status::from_errno(errno, "open an event descriptor");
  if (const int error = io_uring_register_eventfd(&uring->ring_, uring->event_.get()); error < 0) {
    return Status::from_errno(-error, "register an event descriptor with io_uring");
  }
  TUTTI_TRY(uring->watch_.add(loop, uring->event_.get()));
  uring->scope_.spawn(uring->reap_when_signalled());
  return uring;
}

Uring::~Uring() {
  scope_.cancel();
  if (!ring_open_) return;
  io_uring_submit(&ring_);
  while (in_flight_ > 0) {
    io_uring_cqe* completion = nullptr;
    if (const int error = io_uring_wait_cqe(&ring_, &completion); error < 0 && error != -EINTR) break;
    reap();
  }
  io_uring_queue_exit(&ring_);
}

io_uring_sqe* Uring::next_entry() {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) {
    io_uring_submit(&ring_);
    entry = io_uring_get_sqe(&ring_);
  }
  return entry;
}

Uring::Awaiter Uring::start(io_uring_sqe* entry, std::shared_ptr<void> kept) {
  auto operation = std::make_unique<Operation>();
  operation->kept = std::move(kept);
  if (entry == nullptr) {
    operation->result = -EAGAIN;
    operation->done = true;
  } else {
    io_uring_sqe_set_data(entry, operation.get());
    ++in_flight_;
    loop_.executor().post(submit_);
  }
  return {*this, std::move(operation)};
}

void Uring::abandon(Operation* operation) {
  operation->abandoned = true;
  io_uring_sqe* entry = next_entry();
  if (entry == nullptr) return;  // it will end by itself
  io_uring_prep_cancel(entry, operation, 0);
  io_uring_sqe_set_data(entry, nullptr);
  loop_.executor().post(submit_);
}

Uring::Awaiter Uring::read(int fd, std::span<std::byte> into, std::uint64_t offset,
                           std::shared_ptr<void> kept) {
  io_uring_sqe* entry = next_entry();
  if (entry != nullptr) io_uring_prep_read(entry, fd, into.data(), clamp_length(into.size()), offset);
  return start(entry, std::move(kept));
}

Uring::Awaiter Uring::write(int fd, std::span<const std::byte> from, std::uint64_t offset,
                            std::shared_ptr<void> kept) {
  io_uring_sqe* entry = next_entry();
  if (entry != nullptr) io_uring_prep_write(entry, fd, from.data(), clamp_length(from.size()), offset);
  return start(entry, std::move(kept));
}

Uring::Awaiter Uring::fsync(int fd, bool data_only, std::shared_ptr<void> kept) {
  io_uring_sqe* entry = next_entry();
  if (entry != nullptr) io_uring_prep_fsync(entry, fd, data_only ? IORING_FSYNC_DATASYNC : 0U);
  return start(entry, std::move(kept));
}

Uring::Awaiter Uring::fetch(int fd, std::uint64_t offset, std::uint64_t length, std::shared_ptr<void> kept) {
  io_uring_sqe* entry = next_entry();
  if (entry != nullptr)
    io_uring_prep_fadvise(entry, fd, offset, static_cast<off_t>(clamp_length(length)), POSIX_FADV_WILLNEED);
  return start(entry, std::move(kept));
}

Uring::Awaiter Uring::stat(std::string path) {
  struct Question {
    std::string path;
    struct statx answer;
  };
  const auto question = std::make_shared<Question>(Question{std::move(path), {}});
  io_uring_sqe* entry = next_entry();
  if (entry != nullptr) {
    io_uring_prep_statx(entry, AT_FDCWD, question->path.c_str(), 0, STATX_SIZE, &question->answer);
  }
  return start(entry, question);
}

// The event descriptor is never read: each completion is an edge of its own.
Task<void> Uring::reap_when_signalled() {
  for (;;) {
    co_await watch_.readable();
    watch_.drained();
    reap();
  }
}

void Uring::reap() {
  io_uring_cqe* completion = nullptr;
  while (io_uring_peek_cqe(&ring_, &completion) == 0) {
    auto* operation = static_cast<Operation*>(io_uring_cqe_get_data(completion));
    const int result = completion->res;
    io_uring_cqe_seen(&ring_, completion);
    if (operation == nullptr) continue;  // the answer to a cancellation
    --in_flight_;
    operation->result = result;
    operation->done = true;
    if (operation->abandoned) {
      delete operation;
    } else {
      operation->kept.reset();
      loop_.executor().post(operation->resume);
    }
  }
}

}  // namespace tutti
