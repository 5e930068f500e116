#include "cli/bench/bench_peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
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
  std::uint64_t offset = 0;  // in the file, if there is one
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

// The bytes of `file`, or none.
std::span<std::byte> mapped(int file) {
  struct stat info {};
  if (file < 0 || ::fstat(file, &info) != 0) return {};
  const auto size = static_cast<std::size_t>(info.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (at == MAP_FAILED) ::_exit(1);
  return {static_cast<std::byte*>(at), size};
}

[[noreturn]] void serve(int fd, std::span<std::byte> file) {
  std::vector<std::byte> buffer;
  for (Order order; receive_all(fd, &order, sizeof(order));) {
    buffer.resize(file.empty() ? order.size : 0);
    std::byte* bytes = file.empty() ? buffer.data() : file.data() + order.offset;
    const bool done = order.write != 0 ? receive_all(fd, bytes, order.size) && send_all(fd, "k", 1)
                                       : send_all(fd, bytes, order.size);
    if (!done) break;
  }
  ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<RawTcpPeer>> RawTcpPeer::start(int file) {
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
    serve(fd, mapped(file));
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

Status RawTcpPeer::transfer(bool write, std::span<std::byte> buffer, std::uint64_t offset) {
  const Order order{write ? 1U : 0U, buffer.size(), offset};
  const int fd = socket_.get();
  char acknowledged = 0;
  const bool done = send_all(fd, &order, sizeof(order)) &&
                    (write ? send_all(fd, buffer.data(), buffer.size()) && receive_all(fd, &acknowledged, 1)
                           : receive_all(fd, buffer.data(), buffer.size()));
  return done ? Status() : Status(Code::unavailable, "the raw TCP peer is gone");
}

}  // namespace tutti::cli
