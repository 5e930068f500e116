#include "cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace tutti::cli {

Fd open_pidfd(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

bool wait_for_end(int pidfd, Nanos patience) {
  pollfd waiting{pidfd, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, static_cast<int>(patience.millis()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

Result<std::unique_ptr<Child>> Child::start(const std::vector<std::string>& arguments, Nanos grace) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0) return Status::from_errno(errno, "make a pipe");
  const Fd child_input(in[0]);
  Fd input(in[1]);
  if (::pipe2(out.data(), O_CLOEXEC) != 0) return Status::from_errno(errno, "make a pipe");
  Fd output(out[0]);
  const Fd child_output(out[1]);
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  for (std::string& argument : copies) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  const pid_t pid = ::fork();
  if (pid < 0) return Status::from_errno(errno, "start a process");
  if (pid == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (::dup2(child_input.get(), 0) >= 0 && ::dup2(child_output.get(), 1) >= 0)
      ::execv(kSelf, pointers.data());
    ::_exit(127);
  }
  return std::unique_ptr<Child>(new Child(pid, grace, std::move(input), std::move(output)));
}

Child::~Child() {
  if (pid_ <= 0) return;
  if (grace_ > Nanos()) {
    tell_to_end();
    if (wait(grace_).code() != Code::timed_out) return;
  }
  ::kill(pid_, SIGKILL);
  wait().ignore();
}

void Child::tell_to_end() {
  if (pid_ > 0 && !std::exchange(told_, true)) ::kill(pid_, SIGTERM);
}

Result<std::string> Child::read_line(int interrupt, std::optional<Nanos> patience) {
  const int most = patience ? static_cast<int>(patience->millis()) : -1;
  while (true) {
    const std::size_t newline = buffered_.find('\n');
    if (newline != std::string::npos) {
      std::string line = buffered_.substr(0, newline);
      buffered_.erase(0, newline + 1);
      return line;
    }
    std::array<pollfd, 2> waiting{{{output_.get(), POLLIN, 0}, {interrupt, POLLIN, 0}}};
    const int ready = ::poll(waiting.data(), interrupt >= 0 ? 2 : 1, most);
    if (ready < 0 && errno != EINTR) return Status::from_errno(errno, "wait for a process");
    if (ready == 0) {
      return Status(Code::timed_out, fmt::format("the process said nothing for {}", to_string(*patience)));
    }
    if ((waiting[1].revents & POLLIN) != 0) return Status(Code::cancelled, "interrupted");
    if (waiting[0].revents == 0) continue;
    std::array<char, 4096> piece{};
    const ssize_t count = ::read(output_.get(), piece.data(), piece.size());
    if (count == 0) return Status(Code::unavailable, "the process ended before it had a result");
    if (count < 0 && errno != EINTR) return Status::from_errno(errno, "read from a process");
    if (count > 0) buffered_.append(piece.data(), static_cast<std::size_t>(count));
  }
}

Status Child::wait(std::optional<Nanos> patience) {
  if (pid_ <= 0) return {};
  if (patience && !wait_for_end(open_pidfd(pid_).get(), *patience)) {
    return {Code::timed_out, fmt::format("the process did not end within {}", to_string(*patience))};
  }
  int result = 0;
  while (::waitpid(pid_, &result, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  if (WIFEXITED(result) && WEXITSTATUS(result) == 0) return {};
  if (WIFSIGNALED(result))
    return {Code::internal, fmt::format("the process died of signal {}", WTERMSIG(result))};
  return {Code::internal, fmt::format("the process ended with {}", WEXITSTATUS(result))};
}

Result<Fd> catch_interrupts() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, number);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  Fd fd(::signalfd(-1, &wanted, SFD_CLOEXEC));
  if (!fd.valid()) return Status::from_errno(errno, "watch for signals");
  return fd;
}

}  // namespace tutti::cli
