#include "env/real/network/address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

namespace tutti {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kTcp = "tcp:";

Status not_an_address(const std::string& text) {
  return {Code::invalid, "address '" + text + "': expected unix:/path, tcp:host:port or tcp:[ipv6]:port"};
}

Result<Address> parse_tcp(const std::string& text) {
  const std::string_view rest = std::string_view(text).substr(kTcp.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return not_an_address(text);
  std::string_view host = rest.substr(0, colon);
  const std::string_view port = rest.substr(colon + 1);
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  if (brackets) host = host.substr(1, host.size() - 2);
  if (host.empty() || (!brackets && host.find(':') != std::string_view::npos)) return not_an_address(text);
  Address address;
  address.kind = Address::Kind::tcp;
  address.host = host;
  const char* end = port.data() + port.size();
  const auto [stop, error] = std::from_chars(port.data(), end, address.port);
  if (error != std::errc() || stop != end) return not_an_address(text);
  return address;
}

Result<std::vector<SocketAddress>> resolve_tcp(const Address& address, bool to_listen) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
  addrinfo* list = nullptr;
  const std::string port = std::to_string(address.port);
  int error = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &list);
  if (error == EAI_NONAME) {
    hints.ai_flags &= ~AI_NUMERICHOST;
    error = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &list);
  }
  if (error != 0) {
    return Status(Code::unavailable,
                  fmt::format("look up host '{}': {}", address.host,
                              error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, &::freeaddrinfo);
  std::vector<SocketAddress> found;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (each->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress one;
    std::memcpy(&one.storage, each->ai_addr, each->ai_addrlen);
    one.length = each->ai_addrlen;
    found.push_back(one);
  }
  if (found.empty()) return Status(Code::unavailable, "host '" + address.host + "' has no address");
  return found;
}

}  // namespace

std::string Address::to_string() const {
  if (kind == Kind::local) return std::string(kUnix) + path;
  const bool brackets = host.find(':') != std::string::npos;
  return brackets ? fmt::format("tcp:[{}]:{}", host, port) : fmt::format("tcp:{}:{}", host, port);
}

Result<Address> parse_address(const std::string& text) {
  if (text.starts_with(kTcp)) return parse_tcp(text);
  if (!text.starts_with(kUnix) || text.size() == kUnix.size()) return not_an_address(text);
  Address address;
  address.path = text.substr(kUnix.size());
  if (address.path.size() >= sizeof(sockaddr_un::sun_path)) {
    return Status(Code::name_too_long,
                  fmt::format("address '{}': the path of a Unix socket has at most {} bytes; choose a "
                              "shorter run directory",
                              text, sizeof(sockaddr_un::sun_path) - 1));
  }
  return address;
}

Result<std::vector<SocketAddress>> resolve(const Address& address, bool to_listen) {
  if (address.is_tcp()) return resolve_tcp(address, to_listen);
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  std::memcpy(local.sun_path, address.path.data(), address.path.size());
  SocketAddress result;
  std::memcpy(&result.storage, &local, sizeof(local));
  result.length = sizeof(local);
  return std::vector<SocketAddress>{result};
}

Address describe(const SocketAddress& address) {
  Address result;
  result.kind = Address::Kind::tcp;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(address.generic(), address.length, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return result;
  }
  result.host = host.data();
  std::from_chars(port.data(), port.data() + std::strlen(port.data()), result.port);
  return result;
}

}  // namespace tutti
