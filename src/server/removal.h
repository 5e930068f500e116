// What the metadata server and the data servers agree on for the removal of objects.
#pragma once

#include <cstdint>
#include <span>

namespace tutti {

// Stands in the capability of a wire::RemoveObjectsRequest in the place of a file.
std::uint64_t removal_digest(std::span<const std::uint64_t> files, std::int64_t until);

}  // namespace tutti
