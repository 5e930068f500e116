#include "client/transfer/gate.h"

namespace tutti {

Task<Status> GatePassage::enter() {
  Status status = co_await gate_.enter(facts_);
  entered_ = status.ok();
  co_return status;
}

}  // namespace tutti
