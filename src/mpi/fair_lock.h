// FairLock: serves in the order of asking, may be taken again by its holder, and does nothing unless enabled.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace tutti::mpi {

class FairLock {
 public:
  void enable() { enabled_ = true; }
  [[nodiscard]] bool enabled() const { return enabled_; }
  // By the calling thread.
  [[nodiscard]] bool held();
  // Whether others wait. By the holder.
  [[nodiscard]] bool contended();
  void lock();
  void unlock();

 private:
  bool enabled_ = false;
  std::mutex mutex_;
  std::condition_variable served_;
  std::uint64_t next_ = 0;
  std::uint64_t serving_ = 0;
  std::thread::id owner_;
  int depth_ = 0;
};

// Lets others have the lock meanwhile, if it is held. For calls of the MPI library that may wait until other threads have made theirs: to
// make a communicator takes a number that all processes agree on, one such agreement at a time.
class WithoutLock {
 public:
  explicit WithoutLock(FairLock& lock) : lock_(lock), held_(lock.held()) {
    if (held_) lock_.unlock();
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;
  ~WithoutLock() {
    if (held_) lock_.lock();
  }

 private:
  FairLock& lock_;
  bool held_;
};

}  // namespace tutti::mpi
