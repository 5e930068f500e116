// Address: where a socket listens or connects to: "unix:/path" or "tcp:host:port".
//
// A host is a name, an IPv4 address, or an IPv6 address in brackets: "tcp:[fe80::1]:7300".
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace tutti {

struct Address {
  enum class Kind : std::uint8_t { local, tcp };
  Kind kind = Kind::local;
  std::string path;        // of a local socket
  std::string host;        // without brackets
  std::uint16_t port = 0;  // 0: the kernel chooses, for listening only

  [[nodiscard]] bool is_tcp() const { return kind == Kind::tcp; }
  [[nodiscard]] std::string to_string() const;
};

// Code::invalid or Code::name_too_long, with a message that shows what an address looks like.
Result<Address> parse_address(const std::string& text);

// As the kernel wants it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* generic() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
};

// All addresses that the text stands for, in order of preference. A name is looked up, which may block for as
// long as the system's resolver does; a numeric host never blocks. Code::unavailable if the name is unknown
// now.
Result<std::vector<SocketAddress>> resolve(const Address& address, bool to_listen);

// The numeric host and port of a TCP address; empty host for others.
Address describe(const SocketAddress& address);

}  // namespace tutti
