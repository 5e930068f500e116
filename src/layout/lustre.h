// The striping of a file on Lustre, as its extended attribute "lustre.lov" has it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "layout/layout.h"

namespace tutti {

inline constexpr const char* kLustreAttribute = "lustre.lov";

// Of plain layouts, versions 1 and 3. Nothing for others: those of several components stripe each part of a file in
// another way.
std::optional<Layout> lustre_layout(std::span<const std::byte> attribute);

}  // namespace tutti
