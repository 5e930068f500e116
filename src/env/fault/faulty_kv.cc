#include "env/fault/faulty_kv.h"

namespace tutti {

bool FaultyKv::next_fails() {
  if (count_ == 0) return false;
  if (skip_ > 0) {
    --skip_;
    return false;
  }
  --count_;
  return true;
}

Task<Status> FaultyKv::update(std::function<Status(KvWriter&)> body) {
  if (next_fails()) {
    ++injected_;
    co_return Status(code_, "kv update: injected fault");
  }
  if (faults_.update_error > 0 && random_.chance(faults_.update_error)) {
    ++injected_;
    co_return Status(Code::io_error, "kv update: injected fault");
  }
  const bool lose = faults_.lost_answer > 0 && random_.chance(faults_.lost_answer);
  Status status = co_await inner_.update(std::move(body));
  if (!lose || !status.ok()) co_return status;
  ++injected_;
  co_return Status(Code::unavailable, "kv update: injected loss of the answer");
}

}  // namespace tutti
