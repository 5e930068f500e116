#include "env/real/loop/loop.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

namespace tutti {
namespace {

constexpr std::uint32_t kReadEvents = EPOLLIN | EPOLLRDHUP | EPOLLET;
constexpr int kEventsPerTurn = 64;
constexpr std::uint32_t kMostSpinMisses = 10;
constexpr Nanos kGaveWay = 300_us;
constexpr Nanos kLongestSleep = 1_s;  // of a clock that may stand still, while timers run

template <typename ClockType>
Nanos since_epoch() {
  return Nanos(
      std::chrono::duration_cast<std::chrono::nanoseconds>(ClockType::now().time_since_epoch()).count());
}

}  // namespace

Nanos RealClock::steady() const { return since_epoch<std::chrono::steady_clock>(); }

Nanos RealClock::now() const {
  const Nanos time = steady();
  if (!may_stand_still()) return time;
  return std::min(time, attended_ + gap_) - away_;
}

void RealClock::turn_begins() {
  if (!may_stand_still()) return;
  const Nanos time = steady();
  away_ += std::max(Nanos(0), time - attended_ - gap_);
  attended_ = time;
}

void RealClock::turn_ends(Nanos due) {
  if (!may_stand_still()) return;
  attended_ = steady();
  if (due != Nanos::max()) away_ += std::max(Nanos(0), attended_ - due - gap_);
}

Nanos RealClock::wall() const { return since_epoch<std::chrono::system_clock>(); }

Loop::~Loop() {
  if (epoll_ >= 0) ::close(epoll_);
}

void Loop::run() {
  while (!stopped_) run_once(Nanos::max());
  stopped_ = false;
}

void Loop::run_once(Nanos timeout) {
  executor_.run_ready();
  if (stopped_) return;
  wait(timeout);
  executor_.run_ready();
}

void Loop::wait(Nanos timeout) {
  clock_.turn_begins();
  if (executor_.next_deadline() != Nanos::max()) {
    timeout = std::min(timeout, std::max(Nanos(0), executor_.next_deadline() - clock_.now()));
    if (clock_.may_stand_still()) timeout = std::min(timeout, kLongestSleep);
  }
  const Nanos due = timeout == Nanos::max() ? timeout : clock_.steady() + timeout;
  wait_for_events(timeout);
  clock_.turn_ends(due);
  if (executor_.next_deadline() != Nanos::max()) executor_.fire_due(clock_.now());
}

void Loop::wait_for_events(Nanos timeout) {
  timespec limit{};
  const timespec* patience = nullptr;
  if (timeout != Nanos::max()) {
    limit.tv_sec = timeout / 1_s;
    limit.tv_nsec = timeout.count() % 1'000'000'000;
    patience = &limit;
  }
  if (epoll_ < 0) {
    ::ppoll(nullptr, 0, patience, nullptr);
    return;
  }
  if (spin_limit_ > Nanos(0) && timeout > spin_limit_ && spin()) return;
  take_events(patience);
}

int Loop::take_events(const timespec* patience) {
  std::array<epoll_event, kEventsPerTurn> events;
  const int count = ::epoll_pwait2(epoll_, events.data(), kEventsPerTurn, patience, nullptr);
  looked_ = clock_.now();
  // Only marks and posts: nothing that runs here could destroy a watch further down the list.
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    static_cast<FdWatch*>(event.data.ptr)->on_events(event.events);
  }
  return count;
}

// True if events came. After an attempt in vain the next ones are skipped, twice as many each time.
bool Loop::spin() {
  if (spin_pause_ > 0) {
    --spin_pause_;
    return false;
  }
  const timespec none{};
  const Nanos started = clock_.now();
  for (Nanos before = started; before - started < spin_limit_;) {
    if (take_events(&none) > 0) {
      spin_misses_ = 0;
      return true;
    }
    ::sched_yield();
    const Nanos after = clock_.now();
    // Whoever has the core computes: one that sleeps is woken sooner than one that has given way gets its turn.
    if (after - before > kGaveWay) break;
    before = after;
  }
  spin_misses_ = std::min(spin_misses_ + 1, kMostSpinMisses);
  spin_pause_ = 1U << spin_misses_;
  return false;
}

Status Loop::control(int operation, int fd, std::uint32_t events, FdWatch* watch) {
  if (epoll_ < 0) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) return Status::from_errno(errno, "create the event loop's epoll descriptor");
  }
  epoll_event event{};
  event.events = events;
  event.data.ptr = watch;
  if (::epoll_ctl(epoll_, operation, fd, &event) != 0) {
    return Status::from_errno(errno, "watch descriptor " + std::to_string(fd));
  }
  return {};
}

Status FdWatch::add(Loop& loop, int fd) {
  TUTTI_TRY(loop.control(EPOLL_CTL_ADD, fd, kReadEvents, this));
  loop_ = &loop;
  fd_ = fd;
  readable_ = hung_up_ = wants_writable_ = false;
  return {};
}

void FdWatch::remove() {
  if (loop_ == nullptr) return;
  loop_->control(EPOLL_CTL_DEL, fd_, 0, this).ignore();
  wake(reader_);
  wake(writer_);
  loop_ = nullptr;
}

void FdWatch::on_events(std::uint32_t events) {
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) hung_up_ = true;
  if ((events & EPOLLIN) != 0) readable_ = true;
  if (maybe_readable()) wake(reader_);
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) wake(writer_);
}

void FdWatch::want_writable(bool wanted) {
  if (loop_ == nullptr || wants_writable_ == wanted) return;
  wants_writable_ = wanted;
  // Asked for only while somebody waits: a Unix socket reports room each time the peer has read.
  const std::uint32_t events = kReadEvents | (wanted ? std::uint32_t{EPOLLOUT} : 0U);
  loop_->control(EPOLL_CTL_MOD, fd_, events, this).ignore();
}

void FdWatch::wake(Awaiter*& slot) {
  if (slot != nullptr) loop_->executor().post(std::exchange(slot, nullptr)->resume);
}

Result<std::unique_ptr<Signals>> Signals::watch(Loop& loop, const std::vector<int>& numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) {
    return Status::from_errno(error, "block signals");
  }
  const int fd = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) return Status::from_errno(errno, "open a signal descriptor");
  std::unique_ptr<Signals> signals(new Signals(fd));
  TUTTI_TRY(signals->watch_.add(loop, fd));
  return signals;
}

Signals::~Signals() {
  watch_.remove();
  ::close(fd_);
}

Task<int> Signals::next() {
  for (;;) {
    signalfd_siginfo info{};
    if (::read(fd_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
      co_return static_cast<int>(info.ssi_signo);
    }
    watch_.drained();
    co_await watch_.readable();
  }
}

}  // namespace tutti
