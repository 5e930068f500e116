#include "cli/gate/resources.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <vector>

namespace tutti::cli {
namespace {

constexpr std::array<std::string_view, 16> kShared = {
    "nfs",  "nfs4", "lustre", "ceph",  "fuse.ceph", "fuse.ceph-fuse", "gpfs",       "beegfs",
    "cifs", "smb3", "9p",     "pvfs2", "orangefs",  "fuse.glusterfs", "fuse.sshfs", "virtiofs"};

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> list;
  while (!line.empty()) {
    const auto space = line.find(' ');
    if (space != 0) list.push_back(line.substr(0, space));
    if (space == std::string_view::npos) break;
    line.remove_prefix(space + 1);
  }
  return list;
}

}  // namespace

std::string resource_of_device(std::uint64_t device, std::string_view mounts, std::string_view host) {
  const std::string number = fmt::format("{}:{}", major(device), minor(device));
  while (!mounts.empty()) {
    const auto end = mounts.find('\n');
    const auto parts = words(mounts.substr(0, end));
    mounts.remove_prefix(end == std::string_view::npos ? mounts.size() : end + 1);
    // id parent major:minor root mount-point options... - type source options
    const auto dash = std::find(parts.begin(), parts.end(), "-");
    if (parts.size() < 3 || parts[2] != number || parts.end() - dash < 3) continue;
    const std::string_view type = dash[1];
    const std::string_view source = dash[2];
    if (std::find(kShared.begin(), kShared.end(), type) != kShared.end())
      return fmt::format("{}:{}", type, source);
    return fmt::format("{}:{}:{}:{}", host, type, source, number);
  }
  return fmt::format("{}:device:{}", host, number);
}

std::string resource_of_device(std::uint64_t device) {
  std::ifstream file("/proc/self/mountinfo");
  const std::string mounts{std::istreambuf_iterator<char>(file), {}};
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string name = resource_of_device(device, mounts, host.data());
  constexpr std::size_t kLongest = 255;
  if (name.size() > kLongest) name.erase(0, name.size() - kLongest);
  return name;
}

}  // namespace tutti::cli
