// ApplicationQueues: the requests of a server, by application, each queue in the order of arrival. For request policies
// that decide whose turn it is and then serve first come, first served. Pure.
//
// A queue is a small number, so that a policy keeps what it knows of an application in a vector. An application that has
// nothing here is remembered, and its queue with it, until kRemembered others have been quiet for less long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/request/flat_map.h"
#include "policy/request/indexed_heap.h"

namespace tutti {

class ApplicationQueues {
 public:
  using Queue = std::uint32_t;
  using Handle = std::uint32_t;                     // of a request
  static constexpr std::size_t kRemembered = 8192;  // as Lustre has it for the job ids of TBF

  struct Opened {
    Queue queue;
    bool fresh;  // the queue is new, or was that of a forgotten application
  };
  Opened open(std::uint64_t application);

  // `order`: ascending in the order of arrival.
  void push(Queue queue, Handle request, std::uint64_t order);
  // Takes the oldest into service, until end().
  Handle take(Queue queue);
  Queue end(Handle request);
  // A request is gone that was not taken.
  Queue remove(Handle request);

  [[nodiscard]] std::uint64_t application(Queue queue) const { return queues_[queue].application; }
  // Nobody in line.
  [[nodiscard]] bool empty(Queue queue) const { return queues_[queue].line.empty(); }
  // Somebody in service.
  [[nodiscard]] bool busy(Queue queue) const { return queues_[queue].in_service > 0; }
  // How many queues there have been at once: all are below.
  [[nodiscard]] std::size_t size() const { return queues_.size(); }

 private:
  struct Line {
    std::uint64_t application = 0;
    Heap<std::uint64_t> line;
    std::uint32_t in_service = 0;
  };
  void settle(Queue queue);

  std::vector<Line> queues_;
  FlatMap<std::uint64_t, HashOfNumber> by_application_;
  HeapPlaces places_;                 // of requests in line
  std::vector<Queue> queue_of_;       // by request
  IndexedHeap<std::uint64_t> quiet_;  // queues with nobody in line or in service, by when that began
  std::uint64_t next_quiet_ = 0;
};

}  // namespace tutti
