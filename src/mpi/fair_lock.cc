#include "mpi/fair_lock.h"

namespace tutti::mpi {

bool FairLock::held() {
  const std::lock_guard guard(mutex_);
  return owner_ == std::this_thread::get_id();
}

bool FairLock::contended() {
  const std::lock_guard guard(mutex_);
  return next_ - serving_ > 1;
}

void FairLock::lock() {
  if (!enabled_) return;
  std::unique_lock guard(mutex_);
  if (owner_ == std::this_thread::get_id()) {
    ++depth_;
    return;
  }
  const std::uint64_t ticket = next_++;
  served_.wait(guard, [&] { return serving_ == ticket; });
  owner_ = std::this_thread::get_id();
  depth_ = 1;
}

void FairLock::unlock() {
  if (!enabled_) return;
  const std::lock_guard guard(mutex_);
  if (owner_ != std::this_thread::get_id() || --depth_ > 0) return;
  owner_ = {};
  ++serving_;
  served_.notify_all();
}

}  // namespace tutti::mpi
