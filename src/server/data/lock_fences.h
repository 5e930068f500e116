// LockFences: which locks on objects of a data server were lost, so that what is asked for under them is refused. Pure.
//
// Kept for kMostObjects objects, the last ones that were fenced. A fence is not stored: after a restart of the server the
// old holder's requests are gone with their queue, and the holder itself learns of the loss at the metadata server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "env/store.h"
#include "wire/messages.h"

namespace tutti {

class LockFences {
 public:
  static constexpr std::size_t kMostObjects = 1024;
  static constexpr std::size_t kMostLocks = 256;  // of one object; beyond, the smallest ones are forgotten

  void add(ObjectId object, std::span<const wire::LostLock> lost, std::uint64_t epoch);
  // Whether a client's lock counts no more; one without a number is none.
  [[nodiscard]] bool lost(ObjectId object, std::uint64_t client, const wire::Lock& lock) const;
  [[nodiscard]] bool empty() const { return fences_.empty(); }

 private:
  struct Fence {
    std::uint64_t epoch = 0;  // locks of earlier ones are lost
    std::set<std::pair<std::uint64_t, std::uint64_t>> locks;
    std::list<ObjectId>::iterator place;
  };
  std::map<ObjectId, Fence> fences_;
  std::list<ObjectId> order_;  // the last one fenced last
};

}  // namespace tutti
