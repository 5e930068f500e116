// The dispatcher and requests for whole objects: sync and truncate. They wait for their turn as transfers do.
#include <algorithm>

#include "server/data/dispatcher.h"

namespace tutti {

// The turn is over at once: the device has its own queue for what is to be flushed. How many flush at a time is bounded.
Task<void> Dispatcher::sync(Turn turn) {
  Transfer& transfer = turn.transfer;
  end_turn(turn);
  --sending_;
  dispatch();
  co_await syncs_.acquire();
  Status status = co_await store_.sync(transfer.object);
  syncs_.release();
  if (!status.ok()) transfer.fail(std::move(status));
  leave(transfer);
}

Task<void> Dispatcher::truncate(Turn turn) {
  Transfer& transfer = turn.transfer;
  const Transfer::Truncate& wish = transfer.truncate;
  const auto now = co_await store_.length(transfer.object);
  Status status = now.status();
  if (status.ok()) {
    const Bytes old = now->value_or(0_B);
    const bool shorter = wish.cut && old > wish.length;
    // Before and after: what is read meanwhile may be either.
    if (shorter) begin_anew(transfer.object);
    if (shorter || (wish.grow && old < wish.length))
      status = co_await store_.truncate(transfer.object, wish.length);
    if (shorter) begin_anew(transfer.object);
  }
  if (!status.ok()) transfer.fail(std::move(status));
  transfer.applied = status.ok() ? Transfer::kWhole : 0_B;
  end_task(turn);
}

// A write of which a part was done before its object was cut would come out with zeros in front: it is done anew, so that
// all of it came after the cut.
void Dispatcher::begin_anew(ObjectId object) {
  cuts_.cut(object);
  transfers_.for_each([&](Transfer& transfer) {
    if (!transfer.write || transfer.work != Work::transfer || transfer.object != object) return;
    switch (transfer.state) {
      case TransferState::serving:
        transfer.again = true;
        break;
      case TransferState::queued:
      case TransferState::finding:
        if (transfer.held.length > 0_B && transfer.held.offset > 0_B) {
          transfer.again = true;  // after the turn for which its bytes are here
        } else {
          transfer.done = transfer.applied = 0_B;
        }
        break;
      case TransferState::parked:
        transfer.again = true;
        break;
      case TransferState::arriving:
      case TransferState::sending:
      case TransferState::dropped:
        break;
    }
  });
}

}  // namespace tutti
