// LocalGrants: what a client on this host may have read or written without asking, and has not told yet. Pure.
//
// Clients tell afterwards, for the accounts; they are believed as far as that was granted.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.h"
#include "wire/messages.h"

namespace tutti {

class LocalGrants {
 public:
  // How long a grant holds: a change of policy, or of rights, is felt after that at the latest.
  static constexpr Nanos kTime = 100_ms;

  void add(Bytes bytes) { open_ = std::min(open_ + bytes, kMost); }

  struct Told {
    Bytes bytes;
    std::uint64_t count = 0;  // reads or writes
  };
  Told told_reads(const wire::Took& claim) { return told(claim.bytes(), claim.reads()); }
  Told told_writes(const wire::Took& claim) { return told(claim.written(), claim.writes()); }

 private:
  static constexpr Bytes kMost = 1_GiB;

  Told told(std::uint64_t bytes, std::uint64_t count) {
    Told told;
    told.bytes = std::min(Bytes(bytes), open_);
    told.count = std::min(count, told.bytes.count());
    if (told.count == 0) return {};
    open_ -= told.bytes;
    return told;
  }

  Bytes open_;
};

}  // namespace tutti
