// A random number from the kernel: for seeds and ids of the real world.
#pragma once

#include <cstdint>

namespace tutti {

std::uint64_t system_random();

}  // namespace tutti
