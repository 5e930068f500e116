#include "env/real/network/read_grants.h"

#include <algorithm>

namespace tutti {

void ReadGrants::ask(Holder& holder) {
  if (holder.asked_++ > 0) return;
  if (granted_.size() < limit_ && waiting_.empty()) {
    granted_.push_back(&holder);
    return;
  }
  waiting_.push_back(&holder);
  holder.hold();
}

void ReadGrants::came(std::uint64_t losses) {
  ++frames_;
  if (losses > 0 && !lowered_) {
    limit_ = std::clamp(std::min(limit_, granted_.size()) / 2, kLeast, kMost);
    lowered_ = true;
    lossless_ = false;
    left_of_round_ = kSettle;
  } else if (--left_of_round_ == 0) {
    if (!lowered_ && !waiting_.empty()) limit_ = std::min(lossless_ ? 2 * limit_ : limit_ + 1, kMost);
    lowered_ = false;
    left_of_round_ = lossless_ ? kSettle : kRound;
  }
  settle();
}

void ReadGrants::done(Holder& holder) {
  const bool last = --holder.asked_ == 0;
  const auto granted = std::find(granted_.begin(), granted_.end(), &holder);
  if (granted == granted_.end()) {
    if (!last) return;
    std::erase(waiting_, &holder);
    holder.grant();
    return;
  }
  if (!last && waiting_.empty()) return;
  granted_.erase(granted);
  if (!last) {
    waiting_.push_back(&holder);
    holder.hold();
  }
  settle();
}

void ReadGrants::quiet() {
  if (waiting_.empty()) return;
  for (Holder* each : granted_) {
    waiting_.push_back(each);
    each->hold();
  }
  granted_.clear();
  settle();
}

void ReadGrants::settle() {
  while (granted_.size() > limit_) {
    Holder* last = granted_.back();
    granted_.pop_back();
    waiting_.push_front(last);
    last->hold();
  }
  while (granted_.size() < limit_ && !waiting_.empty()) {
    Holder* next = waiting_.front();
    waiting_.pop_front();
    granted_.push_back(next);
    next->grant();
  }
}

}  // namespace tutti
