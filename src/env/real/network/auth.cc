#include "env/real/network/auth.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "env/real/file_descriptor.h"
#include "env/real/network/munge.h"

namespace tutti {
namespace {

constexpr std::string_view kProtocol = "tutti auth 2";

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
void absorb(crypto_generichash_state& state, std::span<const std::byte> bytes) {
  crypto_generichash_update(&state, raw(bytes), bytes.size());
}
void absorb(crypto_generichash_state& state, std::string_view text) {
  absorb(state, std::as_bytes(std::span(text)));
}
bool same(std::span<const std::byte> left, std::span<const std::byte> right) {
  return left.size() == right.size() && sodium_memcmp(left.data(), right.data(), left.size()) == 0;
}

// Of fixed length first: no two inputs collide.
void absorb(crypto_generichash_state& state, const Exchange& exchange) {
  absorb(state, exchange.client);
  absorb(state, exchange.server);
  const std::uint64_t length = exchange.identity.size();
  absorb(state, std::as_bytes(std::span(&length, 1)));
  absorb(state, exchange.identity);
}

// What a MUNGE credential carries before the client's secret: good for one exchange of nonces with one server only.
Proof munge_payload(const Exchange& exchange) {
  crypto_generichash_state state;
  Proof result{};
  crypto_generichash_init(&state, nullptr, 0, result.size());
  absorb(state, kProtocol);
  absorb(state, " munge");
  absorb(state, exchange);
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(result.data()), result.size());
  return result;
}

}  // namespace

Nonce fresh_nonce() {
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Proof key_proof(const AuthKey& key, Role role, const Exchange& exchange, std::span<const std::byte> body) {
  crypto_generichash_state state;
  Proof result{};
  crypto_generichash_init(&state, raw(key), key.size(), result.size());
  absorb(state, kProtocol);
  absorb(state, role == Role::client ? " client" : " server");  // of equal length: no two inputs collide
  absorb(state, exchange);
  absorb(state, body);
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(result.data()), result.size());
  return result;
}

AuthKey session_key(const AuthKey& key, Role from, const Exchange& exchange, Protection protection) {
  const std::string text = fmt::format("session {}", protection_name(protection));
  return key_proof(key, from, exchange, std::as_bytes(std::span(text)));
}

std::string auth_name(AuthKind kind) {
  switch (kind) {
    case AuthKind::local:
      return "local";
    case AuthKind::key:
      return "key";
    case AuthKind::munge:
      return "munge";
  }
  return fmt::format("unknown ({})", static_cast<std::uint32_t>(kind));
}

Status KeyRing::refresh(const std::string& path, File& file) const {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
    const int error = errno;
    file = File();
    if (error == ENOENT) return {};
    return Status::from_errno(error, "read key file " + path);
  }
  const std::array<std::int64_t, 4> stamp = {static_cast<std::int64_t>(info.st_ino), info.st_size,
                                             info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  if (!S_ISREG(info.st_mode) || (info.st_mode & 077U) != 0) {
    file = File();
    return {Code::permission, fmt::format("key file {} is open to others: chmod 600 {}", path, path)};
  }
  if (file.key && file.stamp == stamp) return {};
  AuthKey key{};
  const ssize_t count = ::read(fd.get(), key.data(), key.size());
  if (count != static_cast<ssize_t>(key.size()) || info.st_size != count) {
    file = File();
    return {Code::permission, fmt::format("key file {} is not a key of {} bytes", path, key.size())};
  }
  file.key = key;
  file.stamp = stamp;
  return {};
}

Result<std::vector<AuthKey>> KeyRing::keys() {
  std::vector<AuthKey> found;
  Status failure;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (Status status = refresh(paths_[i], files_[i]); !status.ok()) failure = std::move(status);
    if (files_[i].key && found.size() < kMostKeys) found.push_back(*files_[i].key);
  }
  if (!found.empty()) return found;
  if (!failure.ok()) return failure;
  return Status(Code::permission, paths_.empty() ? "auth = key needs auth_keys, the paths of key files"
                                                 : "there is no key file " + paths_.front());
}

Authenticator::Authenticator(AuthOptions options) : options_(std::move(options)), ring_(options_.keys) {
  // Safe to repeat; it fails only where the kernel gives no random numbers.
  if (sodium_init() < 0) options_.kind = AuthKind::local;
}

Status Authenticator::usable() const {
  switch (options_.kind) {
    case AuthKind::local:
      return {Code::permission,
              "auth = local serves this host only: set auth to key or munge in the cluster file for TCP"};
    case AuthKind::key:
      return KeyRing(options_.keys).keys().status();
    case AuthKind::munge:
      return munge_available();
  }
  return {Code::invalid, "unknown kind of authentication"};
}

Result<std::vector<std::byte>> Authenticator::respond(const Exchange& exchange) {
  std::vector<std::byte> response;
  if (options_.kind == AuthKind::munge) {
    const Proof bound = munge_payload(exchange);
    std::vector<std::byte> payload(bound.begin(), bound.end());
    payload.insert(payload.end(), exchange.secret.begin(), exchange.secret.end());
    const auto credential = munge_credential(options_.munge_socket, payload, options_.server_uid);
    if (!credential.ok()) return credential.status();
    const auto bytes = std::as_bytes(std::span(*credential));
    response.assign(bytes.begin(), bytes.end());
    return response;
  }
  const auto keys = ring_.keys();
  if (!keys.ok()) return keys.status();
  // With both keys, so that neither side has to be the first to change.
  for (const AuthKey& key : *keys) {
    const Proof proof = key_proof(key, Role::client, exchange, {});
    response.insert(response.end(), proof.begin(), proof.end());
  }
  return response;
}

Result<Verified> Authenticator::verify(const Exchange& exchange, std::span<const std::byte> response,
                                       Nanos now) {
  if (options_.kind == AuthKind::key) return verify_key(exchange, response);
  if (options_.kind == AuthKind::munge) return verify_munge(exchange, response, now);
  return usable();
}

Result<Verified> Authenticator::verify_key(const Exchange& exchange, std::span<const std::byte> response) {
  if (response.empty() || response.size() % sizeof(Proof) != 0 ||
      response.size() > kMostKeys * sizeof(Proof)) {
    return Status(Code::malformed, "the answer to the challenge has a wrong length");
  }
  const auto keys = ring_.keys();
  if (!keys.ok()) return keys.status();
  for (const AuthKey& key : *keys) {
    const Proof expected = key_proof(key, Role::client, exchange, {});
    for (std::size_t at = 0; at < response.size(); at += sizeof(Proof)) {
      if (!same(expected, response.subspan(at, sizeof(Proof)))) continue;
      Verified verified;
      const Owner owner = options_.owner.value_or(Owner{::geteuid(), ::getegid()});
      verified.peer.uid = owner.uid;
      verified.peer.gid = owner.gid;
      verified.peer.any_user = true;
      verified.key = key;
      return verified;
    }
  }
  return Status(
      Code::permission,
      "wrong key or server: the peer does not hold a key of this cluster, or means another server of it");
}

Result<Verified> Authenticator::verify_munge(const Exchange& exchange, std::span<const std::byte> response,
                                             Nanos now) {
  const std::string credential(reinterpret_cast<const char*>(response.data()), response.size());
  const auto decoded = munge_decode_credential(options_.munge_socket, credential);
  if (!decoded.ok()) return decoded.status();
  const std::span<const std::byte> payload(decoded->payload);
  if (payload.size() != sizeof(Proof) + sizeof(AuthKey) ||
      !same(payload.first(sizeof(Proof)), munge_payload(exchange))) {
    return Status(Code::permission, "the MUNGE credential was made for another connection or server");
  }
  Verified verified;
  verified.key.emplace();
  std::memcpy(verified.key->data(), payload.data() + sizeof(Proof), sizeof(AuthKey));
  Peer& peer = verified.peer;
  peer.uid = decoded->uid;
  peer.gid = decoded->gid;
  peer.any_user = decoded->uid == 0;
  if (options_.root_squash) {
    if (peer.uid == 0) peer.uid = kNobody;
    if (peer.gid == 0) peer.gid = kNobody;
  }
  peer.groups = groups_.groups_of(peer.uid, peer.gid, now);
  if (options_.root_squash) std::replace(peer.groups.begin(), peer.groups.end(), 0U, kNobody);
  return verified;
}

Proof Authenticator::sign(const Verified& verified, const Exchange& exchange,
                          std::span<const std::byte> body) {
  return verified.key ? key_proof(*verified.key, Role::server, exchange, body) : Proof{};
}

Result<AuthKey> Authenticator::check(const Exchange& exchange, std::span<const std::byte> body,
                                     const Proof& proof) {
  if (options_.kind == AuthKind::munge) {
    if (same(key_proof(exchange.secret, Role::server, exchange, body), proof)) return exchange.secret;
    return Status(Code::permission, "the server could not open the MUNGE credential");
  }
  const auto keys = ring_.keys();
  if (!keys.ok()) return keys.status();
  for (const AuthKey& key : *keys) {
    if (same(key_proof(key, Role::server, exchange, body), proof)) return key;
  }
  return Status(Code::permission, "the server does not hold a key of this cluster");
}

}  // namespace tutti
