#include "env/executor.h"

#include <algorithm>
#include <cassert>

namespace tutti {

void Ready::unlink() {
  if (next_ == nullptr) return;
  previous_->next_ = next_;
  next_->previous_ = previous_;
  previous_ = next_ = nullptr;
}

void Timer::disarm() {
  if (executor_ != nullptr) executor_->remove(index_);
}

Executor::Executor() : head_(nullptr) { head_.previous_ = head_.next_ = &head_; }

Executor::~Executor() {
  while (has_ready()) head_.next_->unlink();
  for (const Entry& entry : heap_) entry.timer->executor_ = nullptr;
  head_.previous_ = head_.next_ = nullptr;
}

void Executor::post(Ready& ready) {
  if (ready.linked()) return;
  ready.previous_ = head_.previous_;
  ready.next_ = &head_;
  head_.previous_->next_ = &ready;
  head_.previous_ = &ready;
}

std::size_t Executor::run_ready() {
  std::size_t count = 0;
  while (has_ready()) {
    Ready* ready = head_.next_;
    ready->unlink();
    ++count;
    ready->run_(ready);
  }
  events_ += count;
  return count;
}

void Executor::arm(Timer& timer, Nanos deadline) {
  timer.disarm();
  timer.executor_ = this;
  heap_.emplace_back();
  sift_up(heap_.size() - 1, Entry{deadline, next_order_++, &timer});
}

std::size_t Executor::fire_due(Nanos now) {
  std::size_t count = 0;
  while (next_deadline() <= now) {
    fire_first();
    ++count;
  }
  return count;
}

void Executor::fire_first() {
  Timer* timer = heap_.front().timer;
  remove(0);
  ++events_;
  timer->fire_(timer);
}

void Executor::place(std::size_t index, const Entry& entry) {
  heap_[index] = entry;
  entry.timer->index_ = index;
}

void Executor::sift_up(std::size_t index, const Entry& entry) {
  while (index > 0) {
    const std::size_t parent = (index - 1) / 4;
    if (!(entry < heap_[parent])) break;
    place(index, heap_[parent]);
    index = parent;
  }
  place(index, entry);
}

void Executor::sift_down(std::size_t index, const Entry& entry) {
  for (;;) {
    const std::size_t first = index * 4 + 1;
    if (first >= heap_.size()) break;
    std::size_t least = first;
    const std::size_t last = std::min(first + 4, heap_.size());
    for (std::size_t child = first + 1; child < last; ++child) {
      if (heap_[child] < heap_[least]) least = child;
    }
    if (!(heap_[least] < entry)) break;
    place(index, heap_[least]);
    index = least;
  }
  place(index, entry);
}

void Executor::remove(std::size_t index) {
  heap_[index].timer->executor_ = nullptr;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (index == heap_.size()) return;
  if (index > 0 && last < heap_[(index - 1) / 4]) {
    sift_up(index, last);
  } else {
    sift_down(index, last);
  }
}

}  // namespace tutti
