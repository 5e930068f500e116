#include "cli/cluster/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>

#include "base/parse.h"
#include "cli/child.h"

namespace tutti::cli {
namespace {

// Where the daemon finds the pipe; the number is passed on its command line.
constexpr int kReadyFd = 3;

std::vector<std::string> serve_arguments(const StateDirectory& state, const std::string& name) {
  std::vector<std::string> arguments = {"tutti", "serve"};
  if (name == "meta" || name == "coordinator") {
    arguments.push_back(name);
  } else {
    arguments.insert(arguments.end(), {"data", "--index", name.substr(name.find('.') + 1)});
  }
  arguments.insert(arguments.end(),
                   {"--config", state.config_path(), "--ready-fd", std::to_string(kReadyFd)});
  return arguments;
}

// In the grandchild, between fork and exec: only async-signal-safe calls.
[[noreturn]] void become_daemon(int log, int ready, char* const* arguments) {
  const int null = ::open("/dev/null", O_RDONLY);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool placed = ::dup2(null, 0) >= 0 && ::dup2(log, 1) >= 0 && ::dup2(log, 2) >= 0 &&
                      (ready == kReadyFd ? ::fcntl(ready, F_SETFD, 0) : ::dup2(ready, kReadyFd)) >= 0;
  if (placed && ::chdir("/") == 0) ::execv(kSelf, arguments);
  constexpr std::string_view kFailed = "25: cannot start the program again";
  [[maybe_unused]] const ssize_t written = ::write(ready, kFailed.data(), kFailed.size());
  ::_exit(127);
}

// Reads what the pipe holds until its end or the deadline of `patience` from now on, in steps of poll.
Result<std::string> read_message(int fd, Nanos patience) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(patience.millis()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0)
      return Status(Code::timed_out, fmt::format("did not serve within {}", to_string(patience)));
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

bool send_signal(int pidfd, int number) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0) == 0;
}

}  // namespace

Result<Starting> start_daemon(const StateDirectory& state, const std::string& name) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return Status::from_errno(errno, "make a pipe");
  Starting starting{name, Fd(pipe[0])};
  const Fd ready(pipe[1]);
  const std::string log_path = state.log_path(name);
  const Fd log(::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return Status::from_errno(errno, fmt::format("open {}", log_path));

  std::vector<std::string> arguments = serve_arguments(state, name);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  const pid_t child = ::fork();
  if (child < 0) return Status::from_errno(errno, fmt::format("start {}", name));
  if (child == 0) {
    ::setsid();
    const pid_t daemon = ::fork();
    if (daemon == 0) become_daemon(log.get(), ready.get(), pointers.data());
    ::_exit(daemon < 0 ? 1 : 0);
  }
  int result = 0;
  while (::waitpid(child, &result, 0) < 0 && errno == EINTR) {
  }
  if (result != 0) return Status(Code::busy, fmt::format("start {}: cannot make another process", name));
  return starting;
}

Status wait_until_ready(const StateDirectory& state, const Starting& starting, Nanos patience) {
  const auto message = read_message(starting.ready.get(), patience);
  const std::string hint = fmt::format("(log: {})", state.log_path(starting.name));
  if (!message.ok()) {
    return {message.code(), fmt::format("{} {} {}", starting.name, message.status().message(), hint)};
  }
  unsigned code = 0;
  const char* end = message->data() + message->size();
  const auto [stop, error] = std::from_chars(message->data(), end, code);
  if (error != std::errc()) {
    return {Code::internal, fmt::format("{} ended while it started {}", starting.name, hint)};
  }
  if (code == 0) return {};
  return {code_from_wire(static_cast<std::uint16_t>(code)),
          fmt::format("{}{} {}", starting.name, std::string_view(stop, static_cast<std::size_t>(end - stop)),
                      hint)};
}

std::vector<Stopped> stop_daemons(const StateDirectory& state, const std::vector<std::string>& names,
                                  Nanos patience) {
  struct Running {
    Stopped stopped;
    Fd pidfd;
  };
  std::vector<Running> all;
  for (const std::string& name : names) {
    const auto pid = state.running(name);
    if (!pid) continue;
    Fd pidfd = open_pidfd(*pid);
    // The number may have gone to another process meanwhile; while the lock is held it has not.
    if (!pidfd.valid() || state.running(name) != pid) continue;
    send_signal(pidfd.get(), SIGTERM);
    all.push_back({{name, *pid, false}, std::move(pidfd)});
  }
  std::vector<Stopped> stopped;
  for (Running& each : all) {
    if (!wait_for_end(each.pidfd.get(), patience)) {
      each.stopped.killed = send_signal(each.pidfd.get(), SIGKILL);
      wait_for_end(each.pidfd.get(), patience);
    }
    stopped.push_back(each.stopped);
  }
  return stopped;
}

}  // namespace tutti::cli
