#include "env/real/network/read_grants.h"

#include <algorithm>

namespace tutti {

void ReadGrants::ask(Holder& holder, std::uint64_t region) {
  if (granted_.size() < limit_ && waiting_.empty()) {
    granted_.push_back({&holder, region});
    return;
  }
  waiting_.push_back({&holder, region});
  holder.hold(region);
}

void ReadGrants::came(std::uint64_t losses) {
  if (losses > 0 && !lowered_) {
    limit_ = std::clamp(std::min(limit_, granted_.size()) / 2, kLeast, kMost);
    lowered_ = true;
    left_of_round_ = kRound;
  } else if (--left_of_round_ == 0) {
    if (!lowered_ && !waiting_.empty()) limit_ = std::min(limit_ + 1, kMost);
    lowered_ = false;
    left_of_round_ = kRound;
  }
  settle();
}

bool ReadGrants::done(const Holder& holder, std::uint64_t region) {
  const bool waited = take_out(waiting_, holder, region);
  if (!waited) take_out(granted_, holder, region);
  settle();
  return waited;
}

bool ReadGrants::take_out(std::deque<Entry>& from, const Holder& holder, std::uint64_t region) {
  return std::erase_if(
             from, [&](const Entry& each) { return each.holder == &holder && each.region == region; }) > 0;
}

void ReadGrants::settle() {
  while (granted_.size() > limit_) {
    const Entry last = granted_.back();
    granted_.pop_back();
    waiting_.push_front(last);
    last.holder->hold(last.region);
  }
  while (granted_.size() < limit_ && !waiting_.empty()) {
    const Entry next = waiting_.front();
    waiting_.pop_front();
    granted_.push_back(next);
    next.holder->grant(next.region);
  }
}

}  // namespace tutti
