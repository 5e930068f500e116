#include "env/real/network/grants_watch.h"

namespace tutti {

void GrantsWatch::wake() {
  if (awake_) return;
  awake_ = true;
  scope_.spawn(watch());
}

Task<void> GrantsWatch::watch() {
  while (grants_.waiting() > 0) {
    const std::uint64_t frames = grants_.frames();
    co_await loop_.clock().sleep(quiet_);
    if (grants_.frames() == frames) grants_.quiet();
  }
  awake_ = false;
}

}  // namespace tutti
