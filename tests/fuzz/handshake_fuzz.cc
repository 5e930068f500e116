// The fuzz target of the transport: what a stranger may send to a listening socket, before and after it has
// proved who it is. The first byte chooses: a local or a TCP listener, and how much of the handshake is done
// properly.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "env/combine.h"
#include "env/real/network/auth.h"
#include "env/real/network/frame.h"
#include "env/real/network/handshake.h"
#include "env/real/network/socket_connection.h"
#include "env/real/network/tcp_handshake.h"
#include "env/scope.h"
#include "tests/env/real/network/tcp_support.h"

namespace tutti {
namespace {

constexpr std::uint8_t kTcp = 1;
constexpr std::uint8_t kGoodHello = 2;
constexpr std::uint8_t kGoodProof = 4;

// A key file that leaves nothing behind.
const std::string& key_path() {
  static const std::string kPath = [] {
    const int fd = ::memfd_create("key", MFD_CLOEXEC);
    const std::string key(sizeof(AuthKey), 'k');
    const bool made = ::fchmod(fd, 0600) == 0 && ::write(fd, key.data(), key.size()) > 0;
    return made ? "/proc/self/fd/" + std::to_string(fd) : std::string();
  }();
  return kPath;
}

void send_frame(int fd, TransportFrame type, std::span<const std::byte> payload) {
  FrameHeader header;
  header.type = static_cast<std::uint16_t>(type);
  header.length = static_cast<std::uint32_t>(payload.size());
  std::vector<std::byte> bytes(sizeof(header) + padded(payload.size()));
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), payload.data(), payload.size());
  ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

struct Hello {
  std::uint32_t version = kTcpVersion;
  AuthKind auth = AuthKind::key;
  Protection protection = Protection::none;
  std::uint32_t reserved = 0;
  Nonce nonce{};
};

// Reads the challenge that has come and answers as a holder of the key would.
void prove(int fd, const Hello& hello) {
  std::array<std::byte, sizeof(FrameHeader) + sizeof(Hello)> challenge{};
  if (::recv(fd, challenge.data(), challenge.size(), MSG_DONTWAIT) != static_cast<ssize_t>(challenge.size()))
    return;
  const auto words = load<Hello>(std::span(challenge).subspan(sizeof(FrameHeader)));
  AuthKey key;
  key.fill(std::byte{'k'});
  const Proof proof = key_proof(key, Role::client, Exchange{hello.nonce, words.nonce}, {});
  send_frame(fd, TransportFrame::response, proof);
}

Task<Status> greet(SocketConnection& connection, Authenticator& authenticator, bool tcp, const Clock& clock) {
  if (tcp) {
    co_return co_await greet_tcp_client(connection, authenticator, Protection::none, ServerWords(), "fuzzer",
                                        clock);
  }
  HandshakeContext context;
  context.mover = MoverChoice::socket;
  co_return co_await greet_client(connection, context);
}

Task<void> serve(SocketConnection* connection, Authenticator* authenticator, bool tcp, const Clock* clock) {
  const Status status = co_await greet(*connection, *authenticator, tcp, *clock);
  while (status.ok()) {
    const Result<Frame> frame = co_await connection->receive();
    if (!frame.ok()) co_return;
  }
}

void run(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto choice = static_cast<std::uint8_t>(input[0]);
  input = input.subspan(1);
  const bool tcp = (choice & kTcp) != 0;
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
  {
    Loop loop;
    Authenticator authenticator(test::with_keys({key_path()}));
    auto connection = SocketConnection::make(loop, ends[0], 1U << 20U);
    if (!connection.ok()) return;
    std::vector<std::byte> memory(4096);
    const Segment segment{reinterpret_cast<std::uint64_t>(memory.data()), memory.size()};
    (*connection)->expose({&segment, 1}, Access::read);
    (*connection)->expose({&segment, 1}, Access::write);
    Scope scope(loop.executor());
    scope.spawn(serve(connection->get(), &authenticator, tcp, &loop.clock()));
    const Hello hello;
    if ((choice & kGoodHello) != 0) {
      // A local hello is as long as a TCP one without its last bytes.
      const auto bytes = bytes_of(hello);
      send_frame(ends[1], TransportFrame::hello, tcp ? bytes : bytes.first(32));
      loop.run_once(Nanos(0));
      loop.run_once(Nanos(0));
      if (tcp && (choice & kGoodProof) != 0) prove(ends[1], hello);
    }
    ::send(ends[1], input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    for (int i = 0; i < 4; ++i) loop.run_once(Nanos(0));
  }
  ::close(ends[1]);
}

}  // namespace
}  // namespace tutti

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::run(std::as_bytes(std::span(data, size)));
  return 0;
}
