// What a client reads from the process it is in. Nothing here changes the process, which may have other threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti {

// The value of an environment variable; empty if it is not set.
std::string environment_variable(const std::string& name);

// The mask for the modes of new files. umask(2) could tell it only by changing it for all threads for a moment; the
// kernel tells it in /proc/self/status. Where that is not to be had, the usual 022.
std::uint32_t process_umask();
// The mask in the text of /proc/PID/status.
std::optional<std::uint32_t> find_umask(std::string_view status);

}  // namespace tutti
