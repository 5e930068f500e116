// Who a peer on TCP is: by a key file that all share, or by MUNGE.
//
// Each side gives a nonce. The client answers to both and names the server that it means (respond); the server checks that
// and learns who the client is (verify). Then the server proves in turn that it is one (sign, check): a keyed BLAKE2b hash
// over the role, both nonces, the server's name and what is said, so that an answer is good once, at one server, in one
// direction, and nothing in it can be changed. The key is the shared one, or with MUNGE a secret that the client puts
// into its credential, which only the servers' user can open. From the same key come those of the frames that follow
// (session_key, frame_guard.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "env/network.h"
#include "env/real/network/protection.h"

namespace tutti {

// Values travel on the wire.
enum class AuthKind : std::uint32_t {
  local = 0,  // peers on the same host, named by the kernel; TCP is refused
  key = 1,    // every holder of the key acts as the cluster's owner
  munge = 2,  // munged vouches for uid and gid
};

struct Owner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

struct AuthOptions {
  AuthKind kind = AuthKind::local;
  // Key files of 32 bytes, mode 0600. Up to two count at a time, so that keys can be exchanged while all
  // runs: a file may be missing as long as the other is there, and files are read again when they have
  // changed.
  std::vector<std::string> keys;
  std::optional<Owner> owner;  // whom holders of a key act as; default: the ids of this process
  bool root_squash = true;     // uid 0 and gid 0 on another host are nobody here
  std::string munge_socket;    // default: as libmunge was built
  // The user that servers run as: only it can open a MUNGE credential. None: anybody can, and servers prove nothing.
  std::optional<std::uint32_t> server_uid;
};

inline constexpr std::size_t kMostKeys = 2;
inline constexpr std::uint32_t kNobody = 65534;

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;
using AuthKey = std::array<std::byte, 32>;

// From the kernel.
Nonce fresh_nonce();

struct Exchange {
  Nonce client{};
  Nonce server{};
  std::string identity{};  // of the server that the client means
  AuthKey secret{};        // the client's, for MUNGE
};

enum class Role : std::uint8_t { client, server };
Proof key_proof(const AuthKey& key, Role role, const Exchange& exchange, std::span<const std::byte> body);
// The key of the frames that `from` sends. Who thinks of another protection has another key.
AuthKey session_key(const AuthKey& key, Role from, const Exchange& exchange, Protection protection);

// What the server knows after verify(). `key` is the one that the client holds, or its secret.
struct Verified {
  Peer peer;
  std::optional<AuthKey> key;
};

// Key files, read again when they change.
class KeyRing {
 public:
  explicit KeyRing(std::vector<std::string> paths) : paths_(std::move(paths)), files_(paths_.size()) {}
  // At least one key, in the order of the paths. Code::permission if a file is open to others or not a key.
  Result<std::vector<AuthKey>> keys();

 private:
  struct File {
    std::optional<AuthKey> key;
    std::array<std::int64_t, 4> stamp{};  // of the file that was read
  };
  Status refresh(const std::string& path, File& file) const;
  std::vector<std::string> paths_;
  std::vector<File> files_;
};

// The supplementary groups of a user, from this host's user database; kept for some minutes. A lookup may
// block for as long as that database does.
class GroupCache {
 public:
  std::vector<std::uint32_t> groups_of(std::uint32_t uid, std::uint32_t gid, Nanos now);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    Nanos until;
    std::vector<std::uint32_t> groups;
  };
  std::vector<Entry> entries_;  // few, oldest first
};

class Authenticator {
 public:
  explicit Authenticator(AuthOptions options);

  [[nodiscard]] AuthKind kind() const { return options_.kind; }
  // Whether this kind works at all here; the message says what to do.
  [[nodiscard]] Status usable() const;

  // The client's answer. Munge: asks munged, which may block until libmunge gives up.
  Result<std::vector<std::byte>> respond(const Exchange& exchange);
  // Code::permission if the answer does not prove anything. Munge: as in respond().
  Result<Verified> verify(const Exchange& exchange, std::span<const std::byte> response, Nanos now);
  // The server's proof that `body` is its word.
  static Proof sign(const Verified& verified, const Exchange& exchange, std::span<const std::byte> body);
  // The key with which the server proved it.
  Result<AuthKey> check(const Exchange& exchange, std::span<const std::byte> body, const Proof& proof);

 private:
  Result<Verified> verify_key(const Exchange& exchange, std::span<const std::byte> response);
  Result<Verified> verify_munge(const Exchange& exchange, std::span<const std::byte> response, Nanos now);

  AuthOptions options_;
  KeyRing ring_;
  GroupCache groups_;
};

std::string auth_name(AuthKind kind);

}  // namespace tutti
