// Counters: numbers that clients share, kept in the Kv. Pure.
//
// A counter belongs to the user that set it; keys are drawn at random by clients. Counters that nobody has changed for
// a week are left over from programs that died: whoever sets one removes a few of those.
#pragma once

#include <cstdint>

#include "env/kv.h"
#include "server/meta/tree.h"

namespace tutti::meta {

inline constexpr Nanos kCounterLife = 3600_s * 24 * 7;

struct CounterAsk {
  std::uint64_t key = 0;
  std::uint8_t op = 0;  // wire::CounterOp
  std::int64_t value = 0;
};

// The value, without a change. Code::not_found if it is not there, Code::permission if it is another user's.
Result<std::int64_t> counter_value(const KvReader& kv, const Caller& caller, std::uint64_t key);
// The answer to any op; Code::invalid if it is unknown.
Result<std::int64_t> change_counter(KvWriter& kv, const Caller& caller, const CounterAsk& ask);

}  // namespace tutti::meta
