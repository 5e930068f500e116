// Hosts on one machine: network namespaces that hang on a switch, which is a namespace too, with links of a given rate.
//
// Nothing is added to the machine's own network: addresses and devices exist inside the namespaces only and vanish with them.
// Needs root and the commands ip and tc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/child.h"

namespace tutti::cli {

// How every host hangs on the switch.
struct HostLink {
  std::uint64_t bytes_per_second = 0;  // that a host sends at most, and receives
  std::uint64_t queue = 0;  // bytes: what the link cannot take at once waits here, and is dropped beyond
  // Longest packet. One of 1,500 bytes costs this machine's processors more than sixteen busy links leave them.
  std::uint32_t packet = 1500;
};

class Hosts {
 public:
  // `names` get the addresses 10.78.0.1, 10.78.0.2, ... Code::not_found with what is missing here.
  static Result<std::unique_ptr<Hosts>> create(std::vector<std::string> names, const HostLink& link);
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;
  // Removes all namespaces. Processes in them must have ended.
  ~Hosts();

  static std::string address(std::size_t host);
  // This program in the namespace of a host.
  Result<std::unique_ptr<Child>> start(std::size_t host, const std::vector<std::string>& arguments) const;

 private:
  Hosts() = default;
  Status make(const HostLink& link);
  [[nodiscard]] std::string space(const std::string& name) const { return prefix_ + "-" + name; }

  std::string prefix_;
  std::vector<std::string> names_;
  std::vector<std::string> made_;  // namespaces
};

}  // namespace tutti::cli
