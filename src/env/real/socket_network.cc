#include "env/real/socket_network.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "env/combine.h"
#include "env/real/file_descriptor.h"
#include "env/real/handshake.h"
#include "env/real/socket_connection.h"
#include "env/scope.h"
#include "env/sync.h"

namespace tutti {

struct SocketNetwork::Shared {
  Loop& loop;
  SocketOptions options;
  bool told_about_socket_mover = false;
};

namespace {

constexpr Nanos kConnectPause = 2_ms;
constexpr Nanos kAcceptPause = 100_ms;
constexpr int kBacklog = 1024;
constexpr int kAcceptsPerTurn = 64;

Result<sockaddr_un> parse_address(const std::string& address) {
  constexpr std::string_view kPrefix = "unix:";
  if (!address.starts_with(kPrefix) || address.size() == kPrefix.size()) {
    return Status(Code::invalid, "address '" + address + "': expected unix:/path");
  }
  sockaddr_un result{};
  result.sun_family = AF_UNIX;
  const std::string path = address.substr(kPrefix.size());
  if (path.size() >= sizeof(result.sun_path)) {
    return Status(Code::name_too_long,
                  fmt::format("address '{}': the path of a Unix socket has at most {} bytes; choose a "
                              "shorter run directory",
                              address, sizeof(result.sun_path) - 1));
  }
  std::memcpy(result.sun_path, path.data(), path.size());
  return result;
}

const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

int unix_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

// Makes room for a listener: removes the file of one that is dead.
Status clear_path(const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(address.sun_path, &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) {
    return {Code::exists,
            fmt::format("listen at {}: a file that is not a socket is in the way", address.sun_path)};
  }
  const int probe = unix_socket();
  if (probe < 0) return Status::from_errno(errno, "open a socket");
  const int error = ::connect(probe, generic(address), sizeof(address)) == 0 ? 0 : errno;
  ::close(probe);
  if (error == 0 || error == EAGAIN) {
    return {Code::busy,
            fmt::format("listen at {}: address in use, another process answers there", address.sun_path)};
  }
  if (error == ECONNREFUSED) ::unlink(address.sun_path);
  return {};
}

class SocketListener final : public Listener {
 public:
  SocketListener(Loop& loop, const SocketOptions& options, bool& told, std::string path, int fd)
      : loop_(loop),
        options_(options),
        told_(told),
        path_(std::move(path)),
        fd_(fd),
        slots_(loop.executor(), options.handshakes_at_once),
        accepted_(loop.executor()),
        scope_(loop.executor()) {}
  ~SocketListener() override {
    scope_.cancel();
    watch_.remove();
    ::close(fd_);
    struct stat info {};
    if (::lstat(path_.c_str(), &info) == 0 && info.st_ino == inode_ && info.st_dev == device_)
      ::unlink(path_.c_str());
  }

  Status start() {
    struct stat info {};
    if (::lstat(path_.c_str(), &info) != 0) return Status::from_errno(errno, "look at " + path_);
    inode_ = info.st_ino;
    device_ = info.st_dev;
    TUTTI_TRY(watch_.add(loop_, fd_));
    scope_.spawn(accept_all());
    return {};
  }

  Task<Result<std::unique_ptr<Connection>>> accept() override {
    std::optional<Result<std::unique_ptr<Connection>>> next = co_await accepted_.pop();
    if (!next) co_return Status(Code::unavailable, "listener at " + path_ + " is broken");
    co_return std::move(*next);
  }

 private:
  struct Slot {
    explicit Slot(Semaphore& slots) : slots(slots) {}
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() { slots.release(); }
    Semaphore& slots;
  };

  Task<void> accept_all() {
    int burst = 0;
    for (;;) {
      if (++burst % kAcceptsPerTurn == 0) co_await loop_.next_turn();
      const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      const int error = fd < 0 ? errno : 0;
      if (fd >= 0) {
        Result<std::unique_ptr<SocketConnection>> connection =
            SocketConnection::make(loop_, fd, options_.send_queue_limit);
        co_await slots_.acquire();
        if (connection.ok()) {
          scope_.spawn(greet(*std::move(connection)));
        } else {
          slots_.release();
        }
      } else if (error == EAGAIN || error == EWOULDBLOCK) {
        watch_.drained();
        co_await watch_.readable();
      } else if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
        if (!told_full_)
          options_.log.warn("accept at {}: {}; trying again until it works", path_, std::strerror(error));
        told_full_ = true;
        co_await loop_.clock().sleep(kAcceptPause);
      } else if (error == EBADF || error == EINVAL || error == ENOTSOCK || error == EOPNOTSUPP) {
        accepted_.push(Status::from_errno(error, "accept at " + path_));
        accepted_.close();
        co_return;
      }
      // Anything else is the failure of one peer that has gone already.
    }
  }

  Task<void> greet(std::unique_ptr<SocketConnection> connection) {
    const Slot slot(slots_);
    HandshakeContext context;
    context.mover = options_.mover;
    const Status status =
        co_await with_timeout(loop_.clock(), options_.handshake_limit, greet_client(*connection, context),
                              "handshake of a new peer");
    if (!status.ok()) {
      options_.log.debug("peer at {} turned away: {}", path_, status.to_string());
      co_return;
    }
    if (!context.cma_failure.ok() && !told_) {
      told_ = true;
      options_.log.info("bulk data of {} travels on the socket, not by cross-memory attach: {}",
                        connection->peer().name, context.cma_failure.message());
    }
    accepted_.push(Result<std::unique_ptr<Connection>>(std::move(connection)));
  }

  Loop& loop_;
  const SocketOptions& options_;
  bool& told_;
  bool told_full_ = false;
  std::string path_;
  int fd_;
  ino_t inode_ = 0;
  dev_t device_ = 0;
  FdWatch watch_;
  Semaphore slots_;
  Mailbox<Result<std::unique_ptr<Connection>>> accepted_;
  Scope scope_;
};

// A full backlog refuses for a moment; the caller's time limit bounds the attempts.
Task<Status> connect_socket(Loop& loop, int fd, sockaddr_un address) {
  while (::connect(fd, generic(address), sizeof(address)) != 0) {
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EAGAIN) {
      const Status status = Status::from_errno(error, fmt::format("connect to unix:{}", address.sun_path));
      // Nobody there yet or no longer: worth another attempt later.
      co_return error == ENOENT ? Status(Code::unavailable, status.message() + "; is the server running?")
                                : status;
    }
    co_await loop.clock().sleep(kConnectPause);
  }
  co_return Status();
}

// The socket is watched only once it is connected: until then epoll would report a hang-up.
Task<Result<std::unique_ptr<SocketConnection>>> connect_and_greet(Loop& loop, sockaddr_un address,
                                                                  const SocketOptions& options) {
  FileDescriptor fd(unix_socket());
  if (!fd.valid()) co_return Status::from_errno(errno, "open a socket");
  TUTTI_CO_TRY(co_await connect_socket(loop, fd.get(), address));
  Result<std::unique_ptr<SocketConnection>> connection =
      SocketConnection::make(loop, fd.release(), options.send_queue_limit);
  if (!connection.ok()) co_return connection.status();
  HandshakeContext context;
  context.mover = options.mover;
  TUTTI_CO_TRY(co_await greet_server(**connection, context));
  co_return std::move(connection);
}

}  // namespace

SocketNetwork::SocketNetwork(Loop& loop, SocketOptions options)
    : shared_(new Shared{loop, std::move(options)}) {}
SocketNetwork::~SocketNetwork() = default;

Task<Result<std::unique_ptr<Connection>>> SocketNetwork::connect(const std::string& address) {
  const Result<sockaddr_un> parsed = parse_address(address);
  if (!parsed.ok()) co_return parsed.status();
  Loop& loop = shared_->loop;
  Result<std::unique_ptr<SocketConnection>> connection =
      co_await with_timeout(loop.clock(), shared_->options.handshake_limit,
                            connect_and_greet(loop, *parsed, shared_->options), "handshake");
  if (!connection.ok()) co_return connection.status().with_context("connect to " + address);
  co_return Result<std::unique_ptr<Connection>>(*std::move(connection));
}

Result<std::unique_ptr<Listener>> SocketNetwork::listen(const std::string& address) {
  const Result<sockaddr_un> parsed = parse_address(address);
  if (!parsed.ok()) return parsed.status();
  TUTTI_TRY(clear_path(*parsed));
  const int fd = unix_socket();
  if (fd < 0) return Status::from_errno(errno, "open a socket");
  const std::string path = parsed->sun_path;
  auto listener = std::make_unique<SocketListener>(shared_->loop, shared_->options,
                                                   shared_->told_about_socket_mover, path, fd);
  if (::bind(fd, generic(*parsed), sizeof(*parsed)) != 0)
    return Status::from_errno(errno, "listen at " + address);
  TUTTI_TRY(listener->start());
  // Until listen() nobody can connect, whatever the mode of the file.
  if (::chmod(path.c_str(), shared_->options.socket_mode) != 0 || ::listen(fd, kBacklog) != 0) {
    return Status::from_errno(errno, "listen at " + address);
  }
  return Result<std::unique_ptr<Listener>>(std::move(listener));
}

}  // namespace tutti
