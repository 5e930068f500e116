// What a file system is called at the gate.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::cli {

// The file system with this st_dev, as the kernel's list of mounts has it: where it comes from for one that several hosts
// share, so that all of them mean the same; else with the name of this host.
std::string resource_of_device(std::uint64_t device);
// The same from the text of /proc/PID/mountinfo.
std::string resource_of_device(std::uint64_t device, std::string_view mounts, std::string_view host);

}  // namespace tutti::cli
