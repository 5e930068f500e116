#include "env/real/network/socket_listener.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "env/combine.h"
#include "env/real/network/endpoint.h"
#include "env/real/network/handshake.h"
#include "env/real/network/tcp_handshake.h"

namespace tutti {
namespace {

constexpr Nanos kAcceptPause = 100_ms;
constexpr int kAcceptsPerTurn = 64;

bool out_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}
bool broken(int error) {
  return error == EBADF || error == EINVAL || error == ENOTSOCK || error == EOPNOTSUPP;
}

}  // namespace

SocketListener::SocketListener(SocketNetwork::Shared& shared, Address address, FileDescriptor fd)
    : shared_(shared),
      address_(std::move(address)),
      fd_(std::move(fd)),
      accepted_(shared.loop.executor()),
      scope_(shared.loop.executor()) {}

SocketListener::~SocketListener() {
  scope_.cancel();
  greetings_.clear();
  watch_.remove();
  if (address_.is_tcp()) return;
  std::erase(shared_.local_paths, address_.path);
  struct stat info {};
  if (::lstat(address_.path.c_str(), &info) == 0 && info.st_ino == inode_ && info.st_dev == device_) {
    ::unlink(address_.path.c_str());
  }
}

Status SocketListener::start() {
  if (!address_.is_tcp()) {
    struct stat info {};
    if (::lstat(address_.path.c_str(), &info) != 0) {
      return Status::from_errno(errno, "look at " + address_.path);
    }
    inode_ = info.st_ino;
    device_ = info.st_dev;
    shared_.local_paths.push_back(address_.path);
  }
  TUTTI_TRY(watch_.add(shared_.loop, fd_.get()));
  TUTTI_TRY(start_listening(fd_.get(), address_, shared_.options.socket_mode));
  scope_.spawn(accept_all());
  return {};
}

Task<Result<std::unique_ptr<Connection>>> SocketListener::accept() {
  std::optional<Result<std::unique_ptr<Connection>>> next = co_await accepted_.pop();
  if (!next) co_return Status(Code::unavailable, "listener at " + address_.to_string() + " is broken");
  co_return std::move(*next);
}

Task<void> SocketListener::accept_all() {
  int burst = 0;
  for (;;) {
    if (++burst % kAcceptsPerTurn == 0) co_await shared_.loop.next_turn();
    SocketAddress from;
    from.length = sizeof(from.storage);
    const int fd = ::accept4(fd_.get(), from.generic(), &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    const int error = fd < 0 ? errno : 0;
    if (fd >= 0) {
      begin(fd, from);
    } else if (error == EAGAIN || error == EWOULDBLOCK) {
      watch_.drained();
      co_await watch_.readable();
    } else if (out_of_resources(error)) {
      if (!told_full_) {
        shared_.options.log.warn("accept at {}: {}; trying again until it works", address_.to_string(),
                                 std::strerror(error));
      }
      told_full_ = true;
      co_await shared_.loop.clock().sleep(kAcceptPause);
    } else if (broken(error)) {
      accepted_.push(Status::from_errno(error, "accept at " + address_.to_string()));
      accepted_.close();
      co_return;
    }
    // Anything else is the failure of one peer that has gone already.
  }
}

void SocketListener::begin(int fd, const SocketAddress& from) {
  std::string name = "a local peer";
  if (address_.is_tcp()) {
    tune_tcp(fd);
    name = describe(from).host;
  }
  Result<std::unique_ptr<SocketConnection>> connection =
      SocketConnection::make(shared_.loop, fd, shared_.options.send_queue_limit);
  if (!connection.ok()) return;
  make_place();
  Greeting& greeting = greetings_.emplace_back(shared_.loop.executor(), std::move(name));
  greeting.scope.spawn(greet(greeting, *std::move(connection)));
}

void SocketListener::make_place() {
  greetings_.remove_if([](const Greeting& each) { return each.done && each.scope.size() == 0; });
  while (greetings_.size() >= std::max<std::size_t>(1, shared_.options.handshakes_at_once)) {
    const auto oldest =
        std::find_if(greetings_.begin(), greetings_.end(), [](const Greeting& each) { return !each.done; });
    if (oldest == greetings_.end()) return;
    const std::string name = std::move(oldest->name);
    greetings_.erase(oldest);
    turned_away(name, Status(Code::busy, "too many handshakes at once; this one was the oldest"));
  }
}

void SocketListener::turned_away(const std::string& name, const Status& why) {
  // A peer that went away is no news.
  if (why.code() == Code::unavailable) {
    shared_.options.log.debug("{} at {}: {}", name, address_.to_string(), why.to_string());
  } else {
    shared_.refusals.refused(address_.to_string(), name, why, shared_.loop.clock().now());
  }
}

Task<void> SocketListener::greet(Greeting& self, std::unique_ptr<SocketConnection> connection) {
  const Status status = co_await with_timeout(shared_.loop.clock(), shared_.options.handshake_limit,
                                              greet_peer(*connection, self.name), "handshake of a new peer");
  if (status.ok()) {
    accepted_.push(Result<std::unique_ptr<Connection>>(std::move(connection)));
  } else {
    turned_away(self.name, status);
  }
  self.done = true;
}

Task<Status> SocketListener::greet_peer(SocketConnection& connection, const std::string& name) {
  if (address_.is_tcp()) {
    ServerWords words;
    words.identity = shared_.identity_of(address_);
    words.instance = shared_.instance;
    if (!shared_.local_paths.empty()) words.local_path = shared_.local_paths.front();
    co_return co_await greet_tcp_client(connection, shared_.authenticator, shared_.options.protection,
                                        std::move(words), name, shared_.loop.clock());
  }
  HandshakeContext context;
  context.mover = shared_.options.mover;
  context.instance = shared_.instance;
  TUTTI_CO_TRY(co_await greet_client(connection, context));
  if (!context.cma_failure.ok() && !shared_.told_about_socket_mover) {
    shared_.told_about_socket_mover = true;
    shared_.options.log.info("bulk data of {} travels on the socket, not by cross-memory attach: {}",
                             connection.peer().name, context.cma_failure.message());
  }
  co_return Status();
}

}  // namespace tutti
