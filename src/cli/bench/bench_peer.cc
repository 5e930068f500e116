#include "cli/bench/bench_peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

namespace tutti::cli {
namespace {

struct Order {
  std::uint64_t write = 0;
  std::uint64_t size = 0;
};

bool send_all(int fd, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(fd, at, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int fd, void* data, std::size_t size) {
  return size == 0 || ::recv(fd, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

[[noreturn]] void serve(int fd) {
  std::vector<std::byte> buffer;
  for (Order order; receive_all(fd, &order, sizeof(order));) {
    buffer.resize(order.size);
    const bool done = order.write != 0 ? receive_all(fd, buffer.data(), order.size) && send_all(fd, "k", 1)
                                       : send_all(fd, buffer.data(), order.size);
    if (!done) break;
  }
  ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<RawTcpPeer>> RawTcpPeer::start() {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!listener.valid() || ::bind(listener.get(), generic, length) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), generic, &length) != 0) {
    return Status::from_errno(errno, "listen on the loopback device");
  }
  const pid_t child = ::fork();
  if (child < 0) return Status::from_errno(errno, "fork");
  const int no_delay = 1;
  if (child == 0) {
    const int fd = ::accept(listener.get(), nullptr, nullptr);
    if (fd < 0) ::_exit(1);
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay));
    serve(fd);
  }
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::unique_ptr<RawTcpPeer> peer(new RawTcpPeer(std::move(socket), child));
  if (::connect(peer->socket_.get(), generic, length) != 0)
    return Status::from_errno(errno, "connect to the raw peer");
  ::setsockopt(peer->socket_.get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay));
  return peer;
}

RawTcpPeer::~RawTcpPeer() {
  socket_.reset();
  ::waitpid(child_, nullptr, 0);
}

Status RawTcpPeer::transfer(bool write, std::span<std::byte> buffer) {
  const Order order{write ? 1U : 0U, buffer.size()};
  const int fd = socket_.get();
  char acknowledged = 0;
  const bool done = send_all(fd, &order, sizeof(order)) &&
                    (write ? send_all(fd, buffer.data(), buffer.size()) && receive_all(fd, &acknowledged, 1)
                           : receive_all(fd, buffer.data(), buffer.size()));
  return done ? Status() : Status(Code::unavailable, "the raw TCP peer is gone");
}

}  // namespace tutti::cli
