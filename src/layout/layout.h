// Layout: how the bytes of a file lie on data servers. Pure.
//
// As in PVFS2: the file is cut into stripes of stripe_size bytes, dealt round-robin to stripe_count servers,
// beginning with first_server. Server numbers are those of the cluster, 0 to server_total - 1, and wrap. The share
// of a server is one object in which its stripes stand one behind the other. A server's place in the file's round
// is its *slot*, 0 to stripe_count - 1.
#pragma once

#include <compare>
#include <cstdint>

#include "base/extent.h"
#include "base/status.h"
#include "base/units.h"

namespace tutti {

struct Layout {
  Bytes stripe_size = 64_KiB;
  std::uint32_t stripe_count = 1;
  std::uint32_t first_server = 0;
  std::uint32_t server_total = 1;

  auto operator<=>(const Layout&) const = default;

  static constexpr Bytes kMinStripe = 512_B;
  static constexpr Bytes kMaxStripe = 1_GiB;

  // stripe_size is a multiple of 512 from 512 B to 1 GiB, 1 <= stripe_count <= server_total, first_server in range.
  [[nodiscard]] Status validate() const;

  [[nodiscard]] std::uint32_t slot_of(Bytes file_offset) const;
  [[nodiscard]] std::uint32_t server_of_slot(std::uint32_t slot) const;
  // Where the byte lies in the object of its server.
  [[nodiscard]] Bytes object_offset(Bytes file_offset) const;
  // The inverse: the file offset of a byte of a slot's object.
  [[nodiscard]] Bytes file_offset(std::uint32_t slot, Bytes object_offset) const;

  // The length of a slot's object if the file is `file_length` long and has no holes at its end.
  [[nodiscard]] Bytes object_length(std::uint32_t slot, Bytes file_length) const;
  // The length that a file must have at least if a slot's object is `object_length` long.
  [[nodiscard]] Bytes file_length(std::uint32_t slot, Bytes object_length) const;
};

}  // namespace tutti
