#include "env/real/network/handshake.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "env/real/network/frame.h"

namespace tutti {
namespace {

constexpr std::uint32_t kMayUseCma = 1;  // Hello::flags

struct Hello {
  std::uint32_t version = kTransportVersion;
  std::uint32_t flags = 0;
  std::uint64_t probe = 0;  // where the cookie lies in the client's memory
  std::array<std::uint64_t, 2> cookie{};
};

struct Welcome {
  std::uint32_t version = kTransportVersion;
  std::uint32_t cma = 0;
  std::array<std::uint64_t, 2> instance{};
};

std::string control_groups(const std::string& process) {
  const std::ifstream file("/proc/" + process + "/cgroup");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Pages of a file in memory count where the process lives that makes them: one of another control group would be charged
// for what the server keeps, and ended if it has no room.
bool is_own(const Peer& peer) {
  if (peer.uid != ::geteuid()) return false;
  const std::string groups = control_groups(std::to_string(peer.pid));
  return !groups.empty() && groups == control_groups("self");
}

// As the kernel knows it; the process at the other end cannot claim anything.
Result<Peer> identify(int fd) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return Status::from_errno(errno, "ask the kernel for the peer's identity");
  }
  Peer peer;
  peer.uid = credentials.uid;
  peer.gid = credentials.gid;
  peer.pid = credentials.pid;
  peer.name = fmt::format("pid {} uid {}", peer.pid, peer.uid);
  std::vector<gid_t> groups(32);
  length = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  int status = ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &length);
  if (status != 0 && errno == ERANGE) {
    groups.resize(length / sizeof(gid_t));
    status = ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &length);
  }
  if (status != 0) return Status::from_errno(errno, "ask the kernel for the groups of " + peer.name);
  peer.groups.assign(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(length / sizeof(gid_t)));
  return peer;
}

std::uint16_t type_of(TransportFrame type) { return static_cast<std::uint16_t>(type); }

Status probe_memory(const Peer& peer, const Hello& hello) {
  if ((hello.flags & kMayUseCma) == 0) return {Code::unsupported, "the client does not want it"};
  TUTTI_TRY(CmaMover::allowed(peer));
  std::array<std::uint64_t, 2> seen{};
  TUTTI_TRY(CmaMover(peer).probe(hello.probe, std::as_writable_bytes(std::span(seen))));
  if (seen != hello.cookie)
    return {Code::unsupported, "the peer's process id belongs to another process here"};
  return {};
}

}  // namespace

void reject(SocketConnection& connection, const Status& status) {
  const auto code = static_cast<std::uint16_t>(status.code());
  std::vector<std::byte> payload(sizeof(code) + std::min<std::size_t>(status.message().size(), 200));
  std::memcpy(payload.data(), &code, sizeof(code));
  std::memcpy(payload.data() + sizeof(code), status.message().data(), payload.size() - sizeof(code));
  connection.send(type_of(TransportFrame::reject), 0, payload).ignore();
}

Status rejection(const Frame& frame) {
  const Code code = code_from_wire(load<std::uint16_t>(frame.payload));
  const auto text = frame.payload.subspan(sizeof(std::uint16_t));
  return {code == Code::ok ? Code::malformed : code,
          "the server refuses: " + std::string(reinterpret_cast<const char*>(text.data()), text.size())};
}

Task<Status> greet_server(SocketConnection& connection, HandshakeContext& context) {
  Result<Peer> peer = identify(connection.fd());
  if (!peer.ok()) co_return peer.status();
  const auto cookie = std::make_unique<std::array<std::uint64_t, 2>>();
  if (::getrandom(cookie->data(), sizeof(*cookie), 0) != sizeof(*cookie)) {
    co_return Status(Code::internal, "no random numbers from the kernel");
  }
  Hello hello;
  hello.cookie = *cookie;
  if (context.mover != MoverChoice::socket) {
    hello.flags = kMayUseCma;
    hello.probe = reinterpret_cast<std::uint64_t>(cookie->data());
  }
  TUTTI_CO_TRY(connection.send(type_of(TransportFrame::hello), 0, bytes_of(hello)));
  const Result<Frame> answer = co_await connection.receive_any();
  if (!answer.ok()) co_return answer.status();
  if (answer->type == type_of(TransportFrame::reject) && answer->payload.size() >= sizeof(std::uint16_t)) {
    co_return rejection(*answer);
  }
  if (answer->type != type_of(TransportFrame::welcome) || answer->payload.size() < sizeof(Welcome)) {
    co_return Status(Code::malformed, "the server does not answer with a welcome");
  }
  const auto welcome = load<Welcome>(answer->payload);
  if (context.mover == MoverChoice::cma && welcome.cma == 0) {
    co_return Status(Code::unsupported, "the server cannot reach this process by cross-memory attach");
  }
  context.instance = welcome.instance;
  connection.established(*std::move(peer), welcome.cma != 0);
  if (context.mover != MoverChoice::socket) connection.take_files();
  co_return Status();
}

Task<Status> greet_client(SocketConnection& connection, HandshakeContext& context) {
  Result<Peer> peer = identify(connection.fd());
  if (!peer.ok()) co_return peer.status();
  const Result<Frame> first = co_await connection.receive_any();
  if (!first.ok()) co_return first.status();
  if (first->type != type_of(TransportFrame::hello) || first->payload.size() < sizeof(Hello)) {
    co_return Status(Code::malformed, peer->name + " does not begin with a hello");
  }
  const auto hello = load<Hello>(first->payload);
  if (hello.version != kTransportVersion) {
    Status status(Code::version,
                  fmt::format("client speaks transport version {}, server speaks {}: use the same "
                              "release of Tutti on both sides",
                              hello.version, kTransportVersion));
    reject(connection, status);
    co_return status;
  }
  int pidfd = -1;
  if (context.mover == MoverChoice::socket) {
    context.cma_failure = Status(Code::unsupported, "it is switched off");
  } else {
    // Before the probe: if that succeeds, it was this process whose memory was read.
    pidfd = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(peer->pid), 0));
    context.cma_failure = pidfd < 0 ? Status::from_errno(errno, "open the process of " + peer->name)
                                    : probe_memory(*peer, hello);
  }
  const bool cma = context.cma_failure.ok();
  if (pidfd >= 0 && cma) {
    connection.close_with_process(pidfd);
  } else if (pidfd >= 0) {
    ::close(pidfd);
  }
  if (context.mover == MoverChoice::cma && !cma) {
    Status status =
        context.cma_failure.with_context("cross-memory attach is required here but does not work");
    reject(connection, status);
    co_return status;
  }
  Welcome welcome;
  welcome.cma = cma ? 1 : 0;
  welcome.instance = context.instance;
  const bool own = is_own(*peer);
  connection.established(*std::move(peer), cma);
  if (context.mover != MoverChoice::socket) connection.give_files(own);
  co_return connection.send(type_of(TransportFrame::welcome), 0, bytes_of(welcome));
}

}  // namespace tutti
