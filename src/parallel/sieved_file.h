// Writing a file in which others may sieve.
#pragma once

#include <cstddef>
#include <span>

#include "client/file_system.h"
#include "parallel/collective.h"

namespace tutti {

// OpenFile::write_list(), and where the options let writes of the file sieve, under a lock over all that it touches: a
// sieving write elsewhere may be about to write back what it read there before.
Task<Status> write_beside_sieves(OpenFile& file, std::span<const Extent> extents,
                                 std::span<const std::span<const std::byte>> memory,
                                 const CollectiveOptions& options);

}  // namespace tutti
