#include "env/real/system_random.h"

#include <sys/random.h>

#include <cstdlib>

namespace tutti {

std::uint64_t system_random() {
  std::uint64_t number = 0;
  // So few bytes are never cut short; without a source of chance nothing can be kept apart.
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) std::abort();
  return number;
}

}  // namespace tutti
