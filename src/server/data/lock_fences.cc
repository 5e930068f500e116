#include "server/data/lock_fences.h"

#include <algorithm>

namespace tutti {

void LockFences::add(ObjectId object, std::span<const wire::LostLock> lost, std::uint64_t epoch) {
  const auto [found, made] = fences_.try_emplace(object);
  Fence& fence = found->second;
  if (!made) order_.erase(fence.place);
  fence.place = order_.insert(order_.end(), object);
  fence.epoch = std::max(fence.epoch, epoch);
  for (const wire::LostLock& lock : lost) {
    fence.locks.emplace(lock.client(), lock.number());
    if (fence.locks.size() > kMostLocks) fence.locks.erase(fence.locks.begin());
  }
  if (fences_.size() <= kMostObjects) return;
  fences_.erase(order_.front());
  order_.pop_front();
}

bool LockFences::lost(ObjectId object, std::uint64_t client, const wire::Lock& lock) const {
  if (lock.number() == 0 || fences_.empty()) return false;
  const auto found = fences_.find(object);
  if (found == fences_.end()) return false;
  return lock.epoch() < found->second.epoch || found->second.locks.contains({client, lock.number()});
}

}  // namespace tutti
