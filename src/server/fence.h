// Fences: how a data server learns which locks were lost. The metadata server signs them, whoever is granted a lock on the
// same bytes carries them to the data servers.
#pragma once

#include <cstdint>
#include <span>

#include "wire/messages.h"

namespace tutti {

// Stands for the whole fence in a capability with kRightFence.
std::uint64_t fence_digest(std::uint64_t file, std::span<const wire::LostLock> lost, std::uint64_t epoch);

}  // namespace tutti
