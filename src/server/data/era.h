// The era of an object: what a data server's replies to writes and syncs name, so that a client recognizes that what it
// wrote and did not sync may be lost. It changes when the server's machine starts anew and when a sync of the object fails.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "env/store.h"

namespace tutti {

// For a write: as it was before the first byte was written. For a sync: as it is afterwards. `boot` is that of the
// machine.
inline std::uint64_t era_of(std::uint64_t boot, const Store& store, ObjectId object) {
  const std::uint64_t losses = store.losses(object);
  return losses == 0 ? boot : mix64(boot ^ mix64(losses));
}

}  // namespace tutti
