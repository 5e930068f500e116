#include "daemon/daemon.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "env/real/system_random.h"
#include "env/scope.h"

namespace tutti {
namespace {

// A server holds a descriptor for each connection and each object in use.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<std::unique_ptr<Daemon>> prepare(const DaemonOptions& options, const std::string& name) {
  const auto directory = std::filesystem::absolute(options.config).lexically_normal().parent_path();
  const StateDirectory state(directory.string());
  TUTTI_TRY(state.check());
  auto config = ClusterConfig::load(options.config);
  if (!config.ok()) return config.status();
  auto level = parse_log_level(config->log_level);
  if (!level.ok()) return level.status();
  Log log = Log::to_stderr(name, *level);
  if (!options.log.empty()) {
    auto to_file = Log::to_file(options.log, name, *level);
    if (!to_file.ok()) return to_file.status();
    log = *to_file;
  }
  auto key = ServerKey::load(state.key_path());
  if (!key.ok()) return key.status();
  std::filesystem::create_directory(directory / "run");
  std::error_code failure;
  std::filesystem::create_directories(config->run_directory,
                                      failure);  // listening tells what is wrong with it
  auto claimed = state.claim(name);
  if (!claimed.ok()) return claimed.status();

  auto daemon = std::unique_ptr<Daemon>(new Daemon{state,
                                                   *std::move(config),
                                                   name,
                                                   *key,
                                                   log,
                                                   *std::move(claimed),
                                                   {},
                                                   {},
                                                   {},
                                                   Random(system_random()),
                                                   -1});
  daemon->ready_fd = options.ready_fd;
  auto signals = Signals::watch(daemon->loop, {SIGTERM, SIGINT, SIGHUP});
  if (!signals.ok()) return signals.status();
  daemon->signals = *std::move(signals);
  raise_descriptor_limit();
  daemon->loop.set_spin(kSpin);
  daemon->network = std::make_unique<SocketNetwork>(daemon->loop, daemon->config.socket_options(log));
  return daemon;
}

Task<void> run_until_end(Task<Status> serving, Status* result, Event* ended) {
  *result = co_await std::move(serving);
  ended->set();
}

Task<void> run_until_signal(Daemon* daemon, Event* ended) {
  int number = SIGHUP;
  while (number == SIGHUP) {
    number = co_await daemon->signals->next();
    if (number == SIGHUP) daemon->log.info("key files are read again by themselves when they change");
  }
  daemon->log.info("signal {}: leaving", number);
  ended->set();
}

Task<void> announce(Daemon* daemon, Task<Status> ready, Status* result, Event* ended) {
  Status status = co_await std::move(ready);
  if (!status.ok()) {
    *result = std::move(status);
    ended->set();
    co_return;
  }
  daemon->log.info("serves in {} as pid {}", daemon->state.path(), ::getpid());
  say_ready(std::exchange(daemon->ready_fd, -1), {});
  notify_manager("READY=1");
}

Task<void> wait(Event* event) { co_await event->wait(); }

}  // namespace

Result<std::vector<std::unique_ptr<Listener>>> listen(Daemon& daemon, const std::string& address) {
  std::vector<std::string> places;
  if (!address.starts_with("unix:")) {
    places.push_back(fmt::format("unix:{}/{}.sock", daemon.config.run_directory, daemon.name));
  }
  places.push_back(address);
  std::vector<std::unique_ptr<Listener>> listeners;
  for (const std::string& place : places) {
    auto listener = daemon.network->listen(place);
    if (!listener.ok()) return listener.status();
    listeners.push_back(*std::move(listener));
  }
  return listeners;
}

Status serve_until_signal(Daemon& daemon, std::vector<Task<Status>> serving, Task<Status> ready) {
  Status result;
  Event ended(daemon.loop.executor());
  Scope scope(daemon.loop.executor());
  scope.spawn(run_until_signal(&daemon, &ended));
  for (Task<Status>& each : serving) scope.spawn(run_until_end(std::move(each), &result, &ended));
  scope.spawn(announce(&daemon, std::move(ready), &result, &ended));
  daemon.loop.run(wait(&ended));
  notify_manager("STOPPING=1");
  scope.cancel();
  return result;
}

Status run_daemon(const DaemonOptions& options, const std::string& name,
                  const std::function<Status(Daemon&)>& serve) {
  ::umask(0077);
  std::signal(SIGPIPE, SIG_IGN);
  auto daemon = prepare(options, name);
  if (!daemon.ok()) {
    say_ready(options.ready_fd, daemon.status());
    return daemon.status();
  }
  const Status served = serve(**daemon);
  say_ready((*daemon)->ready_fd, served);
  return served;
}

void say_ready(int fd, const Status& status) {
  if (fd < 0) return;
  const std::string text = fmt::format("{}: {}", static_cast<unsigned>(status.code()), status.message());
  write_all(fd, std::as_bytes(std::span(text)), "the ready pipe").ignore();
  ::close(fd);
}

void notify_manager(std::string_view state) {
  const char* name = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (name == nullptr || (*name != '/' && *name != '@') || std::strlen(name) >= sizeof(address.sun_path))
    return;
  const std::size_t length = std::strlen(name);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name, length);
  if (*name == '@') address.sun_path[0] = 0;  // an abstract socket
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return;
  ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
}

}  // namespace tutti
