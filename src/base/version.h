// The version of this build.
#pragma once

#include <string_view>

namespace tutti {

inline constexpr std::string_view kVersion = TUTTI_VERSION;

}  // namespace tutti
