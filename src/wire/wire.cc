#include "wire/messages.h"

namespace tutti::wire {

static_assert(sizeof(Capability) == 56, "capabilities are compared and signed as bytes");
static_assert(sizeof(Extent) == 16 && sizeof(Segment) == 16);

}  // namespace tutti::wire
