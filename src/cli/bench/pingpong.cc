#include "cli/bench/pingpong.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "cli/bench/bench_worker.h"

namespace tutti::cli {
namespace {

// Answers every message with itself until the peer is gone.
[[noreturn]] void echo(int fd) {
  std::array<char, 64> message{};
  for (;;) {
    const ssize_t got = ::read(fd, message.data(), message.size());
    if (got <= 0 || ::write(fd, message.data(), static_cast<std::size_t>(got)) != got) ::_exit(0);
  }
}

}  // namespace

Percentiles percentiles(std::vector<std::int64_t>& samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return static_cast<double>(
        samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1))]);
  };
  return {at(0.5), at(0.99)};
}

Result<Percentiles> bare_pingpong(const Clock& clock, std::size_t count, int cpu) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return Status::from_errno(errno, "make a socket pair");
  const Fd here(ends[0]);
  const pid_t child = ::fork();
  if (child < 0) return Status::from_errno(errno, "fork");
  if (child == 0) {
    ::close(ends[0]);
    if (!pin_process(0, cpu).ok()) ::_exit(1);
    echo(ends[1]);
  }
  ::close(ends[1]);
  std::vector<std::int64_t> samples(count);
  std::array<char, 64> message{};
  bool lost = false;
  for (auto& sample : samples) {
    const Nanos started = clock.now();
    lost = lost ||
           ::write(here.get(), message.data(), message.size()) != static_cast<ssize_t>(message.size()) ||
           ::read(here.get(), message.data(), message.size()) <= 0;
    sample = (clock.now() - started).count();
  }
  ::shutdown(here.get(), SHUT_RDWR);
  ::waitpid(child, nullptr, 0);
  if (lost) return Status(Code::unavailable, "the ping-pong's child is gone");
  return percentiles(samples);
}

}  // namespace tutti::cli
