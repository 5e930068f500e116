// external32: the MPI standard's portable representation: big-endian, packed, sizes of its own. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "layout/flat_type.h"

namespace tutti {

// Bytes of external32 data that `bytes` bytes of the type's data become, and back. Only whole elements count.
std::int64_t to_external_bytes(const FlatType& type, std::int64_t bytes);
std::int64_t from_external_bytes(const FlatType& type, std::int64_t external_bytes);

// Writes `count` of the type at `base` into `into`, which is count * external_size() long. Code::too_large if
// a number does not fit its external size.
Status pack_external32(const std::byte* base, const FlatType& type, std::int64_t count,
                       std::span<std::byte> into);
// The other way; `from` may end early (a short read), and then only whole elements are stored.
Status unpack_external32(std::span<const std::byte> from, std::byte* base, const FlatType& type,
                         std::int64_t count);

}  // namespace tutti
