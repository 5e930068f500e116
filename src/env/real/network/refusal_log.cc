#include "env/real/network/refusal_log.h"

namespace tutti {

bool RefusalLog::refused(const std::string& where, const std::string& peer, const Status& why, Nanos now) {
  const Known cause{peer, why.code()};
  if (known_.contains(cause)) return false;
  if (now - second_ >= 1_s) {
    if (unsaid_ > 0) log_.warn("{} more peers were turned away", unsaid_);
    second_ = now;
    lines_ = 0;
    unsaid_ = 0;
  }
  if (++lines_ > kLinesPerSecond) {
    ++unsaid_;
    return false;
  }
  if (order_.size() == kMostKnown) {
    known_.erase(order_.front());
    order_.pop_front();
  }
  known_.insert(cause);
  order_.push_back(cause);
  log_.warn("{} at {} turned away: {} (told once)", peer, where, why.to_string());
  return true;
}

}  // namespace tutti
