#include "env/real/network/endpoint.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "env/combine.h"

namespace tutti {
namespace {

constexpr Nanos kConnectPause = 2_ms;
constexpr Nanos kOneOfSeveral = 2_s;
constexpr int kBacklog = 4096;
constexpr int kSilence = 10'000;  // milliseconds that sent data may stay without acknowledgement
constexpr int kProbeAfter = 4;    // seconds; then kProbes at a distance of kProbeEvery
constexpr int kProbeEvery = 2;
constexpr int kProbes = 3;
constexpr std::size_t kLongestName = 16;  // of a congestion control

int open_socket(int family) { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

void set_option(int fd, int level, int name, int value) {
  ::setsockopt(fd, level, name, &value, sizeof(value));
}

// Requests come in bursts with pauses between them. BBR sends at the rate that it has seen, and what it sees are the pauses. What
// an administrator chose otherwise stays, and so does BBR on routes that are locked to it. To be called before the socket is
// connected, or listens for those that will be: a connection that was paced stays so.
void avoid_pacing(int fd) {
  std::array<char, kLongestName> name{};
  socklen_t length = name.size();
  if (::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &length) != 0) return;
  if (!std::string_view(name.data(), length).starts_with("bbr")) return;
  for (const std::string_view other : {"cubic", "reno"}) {
    if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, other.data(), static_cast<socklen_t>(other.size())) ==
        0)
      return;
  }
}

// Makes room for a listener: removes the file of one that is dead.
Status clear_path(const std::string& path, const SocketAddress& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) {
    return {Code::exists, fmt::format("listen at {}: a file that is not a socket is in the way", path)};
  }
  const FileDescriptor probe(open_socket(AF_UNIX));
  if (!probe.valid()) return Status::from_errno(errno, "open a socket");
  const int error = ::connect(probe.get(), address.generic(), address.length) == 0 ? 0 : errno;
  if (error == 0 || error == EAGAIN) {
    return {Code::busy, fmt::format("listen at {}: address in use, another process answers there", path)};
  }
  if (error == ECONNREFUSED) ::unlink(path.c_str());
  return {};
}

// What a failed connect means for the caller: nobody there yet, or no longer, is worth another attempt.
Status connect_failure(int error, const Address& address) {
  Status status = Status::from_errno(error, "connect to " + address.to_string());
  switch (error) {
    case ENOENT:
      return {Code::unavailable, status.message() + "; is the server running?"};
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case ETIMEDOUT:
    case EADDRNOTAVAIL:
      return {Code::unavailable, status.message()};
    default:
      return status;
  }
}

// A full backlog of a local socket refuses for a moment; the caller's time limit bounds the attempts.
Task<Status> connect_local(Loop& loop, int fd, SocketAddress to, Address address) {
  while (::connect(fd, to.generic(), to.length) != 0) {
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EAGAIN) co_return connect_failure(error, address);
    co_await loop.clock().sleep(kConnectPause);
  }
  co_return Status();
}

Task<Status> connect_tcp(Loop& loop, int fd, SocketAddress to, Address address) {
  avoid_pacing(fd);
  tune_tcp(fd);
  if (::connect(fd, to.generic(), to.length) == 0) co_return Status();
  if (errno != EINPROGRESS && errno != EINTR) co_return connect_failure(errno, address);
  FdWatch watch;
  TUTTI_CO_TRY(watch.add(loop, fd));
  co_await watch.writable();
  int error = 0;
  socklen_t length = sizeof(error);
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  co_return error == 0 ? Status() : connect_failure(error, address);
}

}  // namespace

void tune_tcp(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfter);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kProbeEvery);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kSilence);
}

Result<FileDescriptor> bind_socket(const Address& address) {
  Result<std::vector<SocketAddress>> places = resolve(address, true);
  if (!places.ok()) return places.status();
  const SocketAddress& place = places->front();
  if (!address.is_tcp()) TUTTI_TRY(clear_path(address.path, place));
  FileDescriptor fd(open_socket(place.family()));
  if (!fd.valid()) return Status::from_errno(errno, "open a socket");
  // Connections of a predecessor that linger must not keep its successor from the port.
  if (address.is_tcp()) {
    set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    avoid_pacing(fd.get());
  }
  if (::bind(fd.get(), place.generic(), place.length) != 0) {
    return Status::from_errno(errno, "listen at " + address.to_string());
  }
  return fd;
}

Status start_listening(int fd, const Address& address, std::uint32_t mode) {
  const bool chosen = address.is_tcp() || ::chmod(address.path.c_str(), mode) == 0;
  if (chosen && ::listen(fd, kBacklog) == 0) return {};
  return Status::from_errno(errno, "listen at " + address.to_string());
}

Address bound_address(int fd, const Address& asked) {
  if (!asked.is_tcp()) return asked;
  SocketAddress bound;
  bound.length = sizeof(bound.storage);
  if (::getsockname(fd, bound.generic(), &bound.length) != 0) return asked;
  Address result = asked;
  result.port = describe(bound).port;
  return result;
}

Task<Result<FileDescriptor>> open_connection(Loop& loop, Address address) {
  const Result<std::vector<SocketAddress>> places = resolve(address, false);
  if (!places.ok()) co_return places.status();
  Status failure;
  for (const SocketAddress& place : *places) {
    FileDescriptor fd(open_socket(place.family()));
    if (!fd.valid()) co_return Status::from_errno(errno, "open a socket");
    if (!address.is_tcp()) {
      failure = co_await connect_local(loop, fd.get(), place, address);
    } else if (places->size() == 1) {
      failure = co_await connect_tcp(loop, fd.get(), place, address);
    } else {
      failure = co_await with_timeout(loop.clock(), kOneOfSeveral,
                                      connect_tcp(loop, fd.get(), place, address), "connect");
    }
    if (failure.ok()) co_return std::move(fd);
  }
  co_return failure;
}

}  // namespace tutti
