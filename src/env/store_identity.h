// StoreIdentity: who an object store is, so that no server serves the objects of another.
#pragma once

#include <cstdint>

#include "base/uuid.h"

namespace tutti {

struct StoreIdentity {
  std::uint64_t cluster = 0;
  std::uint32_t server = 0;  // its number in the cluster
  Uuid uuid;
  Uuid metadata;  // of the metadata store whose files have their objects here; none: it has not served yet
  bool replaces = false;  // made to take the place of a store that is lost
  bool operator==(const StoreIdentity&) const = default;
};

}  // namespace tutti
