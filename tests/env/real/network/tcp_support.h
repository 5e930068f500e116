// Key files and addresses for tests of the TCP transport.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "env/real/network/auth.h"
#include "env/real/network/socket_network.h"

namespace tutti::test {

// A key file of 32 equal bytes.
inline std::string make_key(const std::string& path, char fill, unsigned mode = 0600,
                            std::size_t length = 32) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  const std::string text(length, fill);
  if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return "";
  ::close(fd);
  return ::rename(fresh.c_str(), path.c_str()) == 0 ? path : "";
}

inline AuthOptions with_keys(std::vector<std::string> paths) {
  AuthOptions options;
  options.kind = AuthKind::key;
  options.keys = std::move(paths);
  return options;
}

// A loopback address that no other process of the machine is likely to use.
inline std::string loopback_host() {
  const auto pid = static_cast<unsigned>(::getpid());
  return "127." + std::to_string(64 + (pid >> 16U) % 64) + "." + std::to_string((pid >> 8U) & 255U) + "." +
         std::to_string(1 + (pid & 255U) % 254);
}

}  // namespace tutti::test
