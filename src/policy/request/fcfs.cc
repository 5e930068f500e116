#include "policy/request/fcfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace tutti {

std::string FcfsPolicy::name() const { return fmt::format("fcfs;dispatch_depth={}", depth_); }

void FcfsPolicy::add(const QueuedRequest& request, Nanos /*now*/) {
  object_of_.emplace(request.id, request.object);
  ObjectQueue& queue = queues_[request.object];
  queue.ids.push_back(request.id);
  if (queue.ids.size() == 1) heads_.insert(request.id);
}

Decision FcfsPolicy::next(Nanos /*now*/) {
  if (dispatched_ >= depth_ || heads_.empty()) return Decision::idle();
  const std::uint64_t id = *heads_.begin();
  heads_.erase(heads_.begin());
  queues_.find(object_of_.at(id))->second.busy = true;
  ++dispatched_;
  return Decision::dispatch(id);
}

void FcfsPolicy::served(std::uint64_t id, Bytes /*bytes*/, bool finished, Nanos /*now*/) {
  const auto queue = queues_.find(object_of_.at(id));
  assert(queue->second.busy && queue->second.ids.front() == id);
  --dispatched_;
  queue->second.busy = false;
  if (finished) {
    queue->second.ids.pop_front();
    object_of_.erase(id);
  }
  retire(queue);
}

void FcfsPolicy::drop(std::uint64_t id, Nanos /*now*/) {
  const auto queue = queues_.find(object_of_.at(id));
  auto& ids = queue->second.ids;
  const bool head = ids.front() == id;
  assert(!(head && queue->second.busy));
  ids.erase(std::find(ids.begin(), ids.end(), id));
  object_of_.erase(id);
  if (!head) return;
  heads_.erase(id);
  retire(queue);
}

// After its head has gone: the next one stands in line, or the queue goes too.
void FcfsPolicy::retire(Queues::iterator queue) {
  if (queue->second.ids.empty()) {
    queues_.erase(queue);
  } else {
    heads_.insert(queue->second.ids.front());
  }
}

}  // namespace tutti
