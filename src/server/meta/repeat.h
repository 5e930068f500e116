// The memory of answered changes, so that a client may repeat one whose answer was lost.
//
// The answer is stored in the transaction that makes the change: a change with a known (uid, client,
// sequence) is not made again but answered from here. Only the newest answers of a client are kept, and none
// for longer than the given age; every change that is stored pays for the removal of a few old ones. Failed
// changes are not stored: they changed nothing, and may be tried again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "env/kv.h"
#include "server/meta/records.h"

namespace tutti::meta {

// Answers kept of one client, counted by sequence number.
inline constexpr std::uint64_t kRepeatWindow = 1024;

struct Ticket {
  RepeatKey key;  // sequence 0: the client does not ask for protection
  std::uint64_t request =
      0;  // hash of the request: a sequence number used twice does not get a foreign answer
};

// The answer that was given to this request, if it is known.
Result<std::optional<std::string>> recall(const KvReader& kv, const Ticket& ticket);

// Stores an answer and forgets some old ones. Moves `sweep`, the place where it goes on looking for them.
Status remember(KvWriter& kv, const Ticket& ticket, std::string_view answer, Nanos wall, Nanos age,
                RepeatKey& sweep);

}  // namespace tutti::meta
