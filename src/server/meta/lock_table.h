// LockTable: byte range locks of inodes, granted in the order of asking. Pure.
//
// Invariant: an entry is granted if and only if no entry before it in the queue of its inode conflicts with it. So
// nobody is overtaken by a lock that conflicts with his, and nobody waits for one that does not.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <vector>

namespace tutti::meta {

// A lock of a session, by the number that its client gave it.
struct LockName {
  std::uint64_t session = 0;
  std::uint64_t number = 0;
  auto operator<=>(const LockName&) const = default;
};

struct LockRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // not included
  bool exclusive = false;
};

class LockTable {
 public:
  // At the end of the queue; true if it is granted at once. The name must be new.
  bool add(std::uint64_t inode, LockName name, LockRange range);
  // Whether it would be granted at once.
  [[nodiscard]] bool free(std::uint64_t inode, const LockRange& range) const;
  // Released or given up. Returns who is granted by that, in the order of asking. Nothing if there is no such entry.
  std::vector<LockName> remove(LockName name);
  std::vector<LockName> remove_session(std::uint64_t session);

  struct Held {
    std::uint64_t inode = 0;
    std::uint64_t number = 0;
    LockRange range;
  };
  // What is granted to the session.
  [[nodiscard]] std::vector<Held> held(std::uint64_t session) const;
  [[nodiscard]] bool contains(LockName name) const { return places_.contains(name); }
  // False too if there is no such entry.
  [[nodiscard]] bool granted(LockName name) const;
  // The sessions before it in the queue that conflict with it, ascending.
  [[nodiscard]] std::vector<std::uint64_t> blockers(LockName name) const;
  [[nodiscard]] std::size_t size() const { return places_.size(); }
  [[nodiscard]] std::size_t size_of(std::uint64_t session) const;

 private:
  struct Entry {
    LockName name;
    LockRange range;
    bool granted = false;
  };
  using Queue = std::list<Entry>;
  struct Place {
    std::uint64_t inode = 0;
    Queue::iterator entry;
  };
  static bool conflict(const LockRange& a, const LockRange& b);
  static bool clear_before(const Queue& queue, Queue::const_iterator entry);

  std::map<std::uint64_t, Queue> queues_;  // by inode, in the order of asking; none is empty
  std::map<LockName, Place> places_;
};

}  // namespace tutti::meta
