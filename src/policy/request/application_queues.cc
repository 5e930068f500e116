#include "policy/request/application_queues.h"

namespace tutti {

ApplicationQueues::Opened ApplicationQueues::open(std::uint64_t application) {
  const Queue known = by_application_.find(application);
  if (known != by_application_.kNone) return {known, false};
  auto queue = static_cast<Queue>(queues_.size());
  if (quiet_.size() >= kRemembered) {
    queue = quiet_.top();
    quiet_.erase(queue);
    by_application_.erase(queues_[queue].application);
  } else {
    queues_.emplace_back();
  }
  queues_[queue].application = application;
  by_application_.insert(application, queue);
  settle(queue);
  return {queue, true};
}

void ApplicationQueues::push(Queue queue, Handle request, std::uint64_t order) {
  if (request >= queue_of_.size()) queue_of_.resize(std::size_t{request} + 1);
  queue_of_[request] = queue;
  queues_[queue].line.push(places_, request, order);
  settle(queue);
}

ApplicationQueues::Handle ApplicationQueues::take(Queue queue) {
  Line& from = queues_[queue];
  const Handle request = from.line.top();
  from.line.erase(places_, request);
  ++from.in_service;
  return request;
}

ApplicationQueues::Queue ApplicationQueues::end(Handle request) {
  const Queue queue = queue_of_[request];
  --queues_[queue].in_service;
  settle(queue);
  return queue;
}

ApplicationQueues::Queue ApplicationQueues::remove(Handle request) {
  const Queue queue = queue_of_[request];
  queues_[queue].line.erase(places_, request);
  settle(queue);
  return queue;
}

void ApplicationQueues::settle(Queue queue) {
  const bool quiet = empty(queue) && !busy(queue);
  if (quiet == quiet_.contains(queue)) return;
  if (!quiet) return quiet_.erase(queue);
  queues_[queue].line.give_memory_back();
  quiet_.push(queue, next_quiet_++);
}

}  // namespace tutti
