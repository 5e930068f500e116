#include "env/real/network/tcp_handshake.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "env/real/file_descriptor.h"
#include "env/real/network/frame.h"
#include "env/real/network/handshake.h"

namespace tutti {
namespace {

struct TcpHello {
  std::uint32_t version = kTcpVersion;
  AuthKind auth = AuthKind::local;
  Protection protection = Protection::none;
  std::uint32_t reserved = 0;
  Nonce nonce{};
};
static_assert(sizeof(TcpHello) == 48);
using TcpChallenge = TcpHello;  // the server's side of the same

struct WelcomeBody {
  std::array<std::byte, 32> host{};
  std::array<std::uint64_t, 2> instance{};
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};
static_assert(sizeof(WelcomeBody) == 56);
// A welcome is a Proof, a WelcomeBody and the path of the local socket; the proof covers all that follows it.

std::uint16_t type_of(TransportFrame type) { return static_cast<std::uint16_t>(type); }

// The next frame, which must be of this type; a rejection becomes the server's words.
Task<Result<Frame>> expect(SocketConnection& connection, TransportFrame type, std::size_t least) {
  Result<Frame> frame = co_await connection.receive_any();
  if (!frame.ok()) co_return frame;
  if (frame->type == type_of(TransportFrame::reject) && frame->payload.size() >= sizeof(std::uint16_t)) {
    co_return rejection(*frame);
  }
  if (frame->type != type_of(type) || frame->payload.size() < least) {
    co_return Status(Code::malformed, "the peer does not follow the handshake");
  }
  co_return frame;
}

Status refuse(SocketConnection& connection, Status status) {
  reject(connection, status);
  return status;
}

Status check_hello(const TcpHello& hello, AuthKind wanted, Protection protection) {
  if (hello.version != kTcpVersion) {
    return {Code::version,
            fmt::format("the client speaks transport version {}, the server speaks {}: use the "
                        "same release of Tutti on both sides",
                        hello.version, kTcpVersion)};
  }
  if (hello.auth != wanted) {
    return {Code::permission, fmt::format("the cluster wants auth = {}, the client comes with {}",
                                          auth_name(wanted), auth_name(hello.auth))};
  }
  if (hello.protection != protection) {
    return {Code::permission, fmt::format("the cluster wants protect = {}, the client comes with {}",
                                          protection_name(protection), protection_name(hello.protection))};
  }
  return {};
}

// From the frame after the welcome on.
void protect(SocketConnection& connection, Protection protection, Role own, const AuthKey& key,
             const Exchange& exchange) {
  if (protection == Protection::none) return;
  const Role other = own == Role::client ? Role::server : Role::client;
  connection.protect(session_key(key, own, exchange, protection),
                     session_key(key, other, exchange, protection), protection);
}

std::vector<std::byte> welcome_body(const ServerWords& words, const Peer& peer) {
  WelcomeBody body;
  body.host = host_id();
  body.instance = words.instance;
  body.uid = peer.uid;
  body.gid = peer.gid;
  std::vector<std::byte> bytes(sizeof(body) + words.local_path.size());
  std::memcpy(bytes.data(), &body, sizeof(body));
  std::memcpy(bytes.data() + sizeof(body), words.local_path.data(), words.local_path.size());
  return bytes;
}

}  // namespace

std::array<std::byte, 32> host_id() {
  std::array<std::byte, 64> text{};
  const FileDescriptor fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t count = fd.valid() ? ::read(fd.get(), text.data(), text.size()) : 0;
  struct stat network {};
  if (::stat("/proc/self/ns/net", &network) != 0) network = {};
  const std::array<std::uint64_t, 2> space = {network.st_dev, network.st_ino};
  crypto_generichash_state state;
  std::array<std::byte, 32> id{};
  crypto_generichash_init(&state, nullptr, 0, id.size());
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(text.data()),
                            count > 0 ? static_cast<unsigned long long>(count) : 0);
  crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(space.data()), sizeof(space));
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(id.data()), id.size());
  return id;
}

Task<Result<TcpWelcome>> greet_tcp_server(SocketConnection& connection, Authenticator& authenticator,
                                          Protection protection, std::string server_name,
                                          std::string identity) {
  TcpHello hello;
  hello.auth = authenticator.kind();
  hello.protection = protection;
  hello.nonce = fresh_nonce();
  TUTTI_CO_TRY(connection.send(type_of(TransportFrame::hello), 0, bytes_of(hello)));
  const Result<Frame> asked = co_await expect(connection, TransportFrame::challenge, sizeof(TcpChallenge));
  if (!asked.ok()) co_return asked.status();
  const auto challenge = load<TcpChallenge>(asked->payload);
  if (challenge.version != kTcpVersion || challenge.auth != hello.auth ||
      challenge.protection != hello.protection) {
    co_return Status(Code::malformed, "the server challenges in another way than was offered");
  }
  const Exchange exchange{hello.nonce, challenge.nonce, std::move(identity), fresh_nonce()};
  const auto response = authenticator.respond(exchange);
  if (!response.ok()) co_return response.status();
  TUTTI_CO_TRY(connection.send(type_of(TransportFrame::response), 0, *response));
  const Result<Frame> answer =
      co_await expect(connection, TransportFrame::welcome, sizeof(Proof) + sizeof(WelcomeBody));
  if (!answer.ok()) co_return answer.status();
  const auto body = answer->payload.subspan(sizeof(Proof));
  const Result<AuthKey> key = authenticator.check(exchange, body, load<Proof>(answer->payload));
  if (!key.ok()) co_return key.status();
  const auto words = load<WelcomeBody>(body);
  const auto path = body.subspan(sizeof(WelcomeBody));
  TcpWelcome welcome;
  welcome.instance = words.instance;
  welcome.local_path.assign(reinterpret_cast<const char*>(path.data()), path.size());
  welcome.same_host = words.host == host_id();
  welcome.uid = words.uid;
  welcome.gid = words.gid;
  Peer peer;
  peer.name = std::move(server_name);
  connection.established(std::move(peer), false);
  connection.batch_bulk();
  protect(connection, protection, Role::client, *key, exchange);
  co_return welcome;
}

Task<Status> greet_tcp_client(SocketConnection& connection, Authenticator& authenticator,
                              Protection protection, ServerWords words, std::string client_name,
                              const Clock& clock) {
  const Result<Frame> first = co_await expect(connection, TransportFrame::hello, sizeof(TcpHello));
  if (!first.ok()) co_return first.status();
  const auto hello = load<TcpHello>(first->payload);
  if (Status status = check_hello(hello, authenticator.kind(), protection); !status.ok()) {
    co_return refuse(connection, std::move(status));
  }
  TcpChallenge challenge;
  challenge.auth = authenticator.kind();
  challenge.protection = protection;
  challenge.nonce = fresh_nonce();
  TUTTI_CO_TRY(connection.send(type_of(TransportFrame::challenge), 0, bytes_of(challenge)));
  const Result<Frame> response = co_await expect(connection, TransportFrame::response, 1);
  if (!response.ok()) co_return response.status();
  const Exchange exchange{hello.nonce, challenge.nonce, words.identity, {}};
  Result<Verified> verified = authenticator.verify(exchange, response->payload, clock.now());
  if (!verified.ok()) {
    reject(connection, verified.status());
    // The client may try again when munged is back; here it is a fault to be told of.
    const bool ours = verified.code() == Code::unavailable;
    co_return ours ? Status(Code::internal, verified.status().message()) : verified.status();
  }

  const std::vector<std::byte> body = welcome_body(words, verified->peer);
  const Proof proof = Authenticator::sign(*verified, exchange, body);
  std::vector<std::byte> welcome(proof.begin(), proof.end());
  welcome.insert(welcome.end(), body.begin(), body.end());
  Peer peer = std::move(verified->peer);
  peer.name = fmt::format("{} uid {}", client_name, peer.uid);
  connection.established(std::move(peer), false);
  connection.batch_bulk();
  connection.allow_early();
  const Status sent = connection.send(type_of(TransportFrame::welcome), 0, welcome);
  protect(connection, protection, Role::server, *verified->key, exchange);
  co_return sent;
}

}  // namespace tutti
