// ServerLoad: what a data server said last of how busy it is. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "wire/messages.h"

namespace tutti {

class ServerLoad {
 public:
  // It said so at `now`.
  void heard(const wire::Load& load, Nanos now) {
    known_ = true;
    free_at_ = now + Nanos(std::int64_t{load.wait()} * 1000);
    pace_ = load.pace();
  }
  [[nodiscard]] bool known() const { return known_; }
  // How long it still needs for what it had then.
  [[nodiscard]] Nanos wait(Nanos now) const { return std::max(free_at_ - now, Nanos()); }
  // How long it takes for so many bytes.
  [[nodiscard]] Nanos service(Bytes length) const {
    return Nanos(
        static_cast<std::int64_t>(length.count() / 1024 * pace_ + length.count() % 1024 * pace_ / 1024));
  }

 private:
  bool known_ = false;
  Nanos free_at_;
  std::uint64_t pace_ = 0;  // nanoseconds for 1 KiB
};

}  // namespace tutti
