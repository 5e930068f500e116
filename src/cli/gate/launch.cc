#include "cli/gate/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "cli/child.h"
#include "env/real/system_random.h"

namespace tutti::cli {
namespace {

Task<void> forward_signals(Signals& signals, pid_t child) {
  for (;;) {
    const int number = co_await signals.next();
    if (number != SIGINT) ::kill(child, number);
  }
}

Task<bool> wait_for_child(Loop& loop, int pidfd, pid_t child, int& status) {
  FdWatch watch;
  if (pidfd < 0 || !watch.add(loop, pidfd).ok()) {
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    co_return true;
  }
  for (;;) {
    if (::waitpid(child, &status, WNOHANG) == child) co_return true;
    watch.drained();
    co_await watch.readable();
  }
}

}  // namespace

Result<std::unique_ptr<GateWorld>> GateWorld::open(const Globals& globals) {
  auto config = load_cluster(cluster_choice(globals), &environment_variable);
  if (!config.ok()) return config.status();
  auto world = without_cluster();
  world->config = *std::move(config);
  world->network = std::make_unique<SocketNetwork>(world->loop, world->config.socket_options(world->log));
  return world;
}

std::unique_ptr<GateWorld> GateWorld::without_cluster() {
  auto world = std::make_unique<GateWorld>();
  world->log = client_log("tutti.gate", LogLevel::warn, &environment_variable);
  world->random = Random(system_random());
  world->loop.set_spin(kSpin);
  world->network = std::make_unique<SocketNetwork>(world->loop, SocketOptions());
  return world;
}

GateSessionOptions GateWorld::session_options(const Globals& globals, const std::string& program) const {
  GateSessionOptions options;
  options.address = config.coordinator_address();
  options.cluster = config.id;
  options.program = program;
  if (const auto patience = patience_of(globals); patience.ok() && *patience) options.patience = **patience;
  return options;
}

std::string program_name(const std::vector<std::string>& command) {
  static const std::vector<std::string> kLaunchers = {"mpirun", "mpiexec", "srun", "orterun",
                                                      "env",    "sh",      "bash"};
  for (const std::string& word : command) {
    const std::string name = std::filesystem::path(word).filename().string();
    const bool number =
        !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (name.empty() || name[0] == '-' || number || word.find('=') != std::string::npos) continue;
    if (std::find(kLaunchers.begin(), kLaunchers.end(), name.substr(0, name.find('.'))) == kLaunchers.end())
      return name;
  }
  return command.empty() ? "" : std::filesystem::path(command.front()).filename().string();
}

Result<int> run_and_wait(Loop& loop, const std::vector<std::string>& command) {
  auto signals = Signals::watch(loop, {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT});
  if (!signals.ok()) return signals.status();
  std::array<int, 2> said{};  // why it could not be started; closed by a start
  if (::pipe2(said.data(), O_CLOEXEC) != 0) return Status::from_errno(errno, "make a pipe");
  const Fd hear(said[0]);
  Fd say(said[1]);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return Status::from_errno(errno, "start a process");
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(arguments[0], arguments.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t told = ::write(say.get(), &error, sizeof(error));
    ::_exit(127);
  }
  say.reset();
  int status = 0;
  int error = 0;
  if (::read(hear.get(), &error, sizeof(error)) == static_cast<ssize_t>(sizeof(error))) {
    ::waitpid(child, &status, 0);
    return Status::from_errno(error, fmt::format("start {}", command.front()));
  }
  const Fd pidfd = open_pidfd(child);
  Scope scope(loop.executor());
  scope.spawn(forward_signals(**signals, child));
  loop.run(wait_for_child(loop, pidfd.get(), child, status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tutti::cli
