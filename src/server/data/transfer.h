// Transfer: one read or write of a data server, from its arrival to its reply.
//
// A transfer is in one state at a time, and goes from one to the next by one function of Dispatcher each:
//
//                            +-------- end_turn: the policy decides again --------+
//                            v                                                    |
//   arriving --enqueue--> queued --start_turn--> finding (a cold object) ---------+
//                            |          |                                         |
//                            |          +------> serving ----- end_turn ----------+
//                            |                    |                               | it was the last turn
//                            |        park: its client makes no progress          v
//                            |                    |                            sending
//                            |                  parked --unpark--> queued         |
//                            |                    |                               |
//                          drop: its session has ended                            |
//                            v                                                    v
//                         dropped ---- forget_if_over: no task uses it ----> (forgotten)
//
// queued     the policy has it, or will when it is told
// finding    a turn without bytes: the device is asked for the way to the object
// serving    a turn with bytes: the store has them; those of earlier turns may still be on the network
// parked     it waits for its client and for nothing else, outside the policy; also straight from queued: parking.h. Or for
//            the rest of a call that it is part of: directed_calls.h
// sending    it had its last turn; the network may still have bytes. When it does not, the client is answered.
// dropped    nobody waits for an answer, but its early pull is still under way
//
// The last turn is that of the last bytes, of the first failure, or the one after which the client is gone.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/extent.h"
#include "base/raw_bytes.h"
#include "env/frame_pool.h"
#include "env/network.h"
#include "env/store.h"
#include "env/sync.h"
#include "policy/request/policy.h"
#include "server/data/accounting.h"
#include "server/data/client_session.h"
#include "server/data/statistics.h"
#include "server/data/usage.h"
#include "wire/messages.h"

namespace tutti {

enum class TransferState : std::uint8_t { arriving, queued, finding, serving, parked, sending, dropped };

// Whether the drawing above has this arrow.
constexpr bool may_follow(TransferState from, TransferState to) {
  using enum TransferState;
  switch (to) {
    case arriving:
      return false;
    case queued:
      return from == arriving || from == finding || from == serving || from == parked;
    case finding:
    case serving:
      return from == queued;
    case parked:
      return from == queued || from == serving;
    case dropped:
      return from == queued || from == parked;
    case sending:
      return from == finding || from == serving;
  }
  return false;
}

// What a transfer asks for. The requests for a whole object have no bytes and one turn. A prefetch has turns as a read
// has, but its bytes stay in the store, and it was answered when it came.
enum class Work : std::uint8_t { transfer, sync, truncate, prefetch };

// See server/data/local_reads.h and local_writes.h.
struct LocalAccess {
  // The key of the file that the client has; 1: it has none yet; 0: it cannot read or write by itself.
  std::uint64_t known = 0;
  Bytes ahead;            // how much more it would read or write without asking
  std::uint64_t key = 0;  // of the file that it reads from by itself; 0: its bytes are moved
  Bytes object_length;    // when the file was shared
};

// The lists of a transfer, which keep their memory for the next one: see TransferTable.
struct TransferLists {
  std::vector<Extent> extents;
  Region region;
  RawBytes inside;  // the bytes of a small read, or of a write that were pulled before its turn
};

// Its memory comes from the pool of coroutine frames, as it comes and goes with those that serve it.
struct Transfer : TransferLists, detail::FramePool {
  // What the client asks for, beside extents and region.
  std::uint64_t frame = 0;  // its id of the request, repeated in the reply
  Work work = Work::transfer;
  bool write = false;
  struct Truncate {
    Bytes length;
    bool cut = false;
    bool grow = false;
  } truncate;
  bool by_view = false;         // the client named a range of a view
  wire::DirectedCall directed;  // of which it is part; id 0: of none
  bool waits_for_call = false;  // parked until the rest of that is here: directed_calls.h
  bool inside_reply = false;    // a small read whose bytes travel in the reply
  ObjectId object;
  Bytes length;
  LocalAccess local;
  std::uint64_t number = 0;                // of a change: see replay.h
  std::optional<std::uint64_t> cuts_then;  // of the object, when a write that is repeated was applied
  std::shared_ptr<Usage> usage;            // of its application
  wire::Lock lock;                         // under which it is made; number 0: none
  wire::Visitor visitor;                   // who asks, of a group; ranks 0: nobody who has a rank
  std::shared_ptr<ClientSession> session;

  // How far it is.
  TransferState state = TransferState::arriving;
  QueuedRequest request;         // what the policy knows of it; the id is ours
  std::uint64_t generation = 0;  // of the policy that has it
  Accounting::Slot account = Accounting::kOthers;
  Statistics::Way way = Statistics::Way::none;  // of the device to it, when its first turn began,
  Nanos began;                                  // and when that was
  bool warmed = false;                          // the way to its bytes was asked for, or was known
  Bytes done;                                   // had their turn so far, the present one included
  bool again = false;                           // its object was cut after it began: it has to begin anew
  Bytes applied;                                // of a write: had their turn, and it ended well
  std::size_t tasks = 0;  // that use this: turns in the store or on the network, and the early pull
  Status status;          // the first failure
  Bytes valid_end = Bytes::max();
  Bytes rotten = Bytes::max();  // where in the object bytes are that changed on the device
  std::uint64_t era = 0;        // of the object when the first turn began: see era.h
  std::optional<Event> pulled;  // of an early pull: set at its end
  Extent held;                  // of a parked write: what of it is in `inside` for the next turn

  // As `applied` of a request that has no bytes.
  static constexpr Bytes kWhole = Bytes(1);

  void enter(TransferState next) {
    assert(may_follow(state, next));
    state = next;
  }
  void fail(Status why) {
    if (status.ok()) status = std::move(why);
  }
  // Had its last turn or was dropped: who ends last forgets it.
  [[nodiscard]] bool over() const {
    return state == TransferState::sending || state == TransferState::dropped;
  }
  // What it takes while it waits, its places in the policy and in the dispatcher's table counted in; early pulls have
  // a limit of their own.
  [[nodiscard]] Bytes memory() const {
    constexpr std::size_t kPlaces = 384;  // tables and heaps, as they grow by doubling
    return Bytes(sizeof(Transfer) + kPlaces + extents.capacity() * sizeof(Extent) +
                 region.segments.capacity() * sizeof(Segment) +
                 region.ends.capacity() * sizeof(std::uint64_t));
  }
};

}  // namespace tutti
