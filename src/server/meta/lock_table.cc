#include "server/meta/lock_table.h"

#include <algorithm>

namespace tutti::meta {

bool LockTable::conflict(const LockRange& a, const LockRange& b) {
  return (a.exclusive || b.exclusive) && a.begin < b.end && b.begin < a.end;
}

bool LockTable::clear_before(const Queue& queue, Queue::const_iterator entry) {
  return std::none_of(queue.begin(), entry,
                      [&](const Entry& earlier) { return conflict(earlier.range, entry->range); });
}

bool LockTable::add(std::uint64_t inode, LockName name, LockRange range) {
  Queue& queue = queues_[inode];
  const auto entry = queue.insert(queue.end(), Entry{name, range, false});
  places_.emplace(name, Place{inode, entry});
  entry->granted = clear_before(queue, entry);
  return entry->granted;
}

bool LockTable::free(std::uint64_t inode, const LockRange& range) const {
  const auto queue = queues_.find(inode);
  return queue == queues_.end() ||
         std::none_of(queue->second.begin(), queue->second.end(),
                      [&](const Entry& entry) { return conflict(entry.range, range); });
}

std::vector<LockName> LockTable::remove(LockName name) {
  const auto place = places_.find(name);
  if (place == places_.end()) return {};
  const std::uint64_t inode = place->second.inode;
  Queue& queue = queues_.at(inode);
  const LockRange gone = place->second.entry->range;
  // Only those behind it that conflict with it can have waited for it.
  auto next = queue.erase(place->second.entry);
  places_.erase(place);
  std::vector<LockName> granted;
  for (; next != queue.end(); ++next) {
    if (next->granted || !conflict(gone, next->range) || !clear_before(queue, next)) continue;
    next->granted = true;
    granted.push_back(next->name);
  }
  if (queue.empty()) queues_.erase(inode);
  return granted;
}

std::vector<LockTable::Held> LockTable::held(std::uint64_t session) const {
  std::vector<Held> found;
  for (auto place = places_.lower_bound(LockName{session, 0});
       place != places_.end() && place->first.session == session; ++place) {
    const Entry& entry = *place->second.entry;
    if (entry.granted) found.push_back({place->second.inode, entry.name.number, entry.range});
  }
  return found;
}

std::vector<LockName> LockTable::remove_session(std::uint64_t session) {
  std::vector<LockName> granted;
  for (;;) {
    const auto place = places_.lower_bound(LockName{session, 0});
    if (place == places_.end() || place->first.session != session) break;
    for (const LockName& name : remove(place->first)) granted.push_back(name);
  }
  std::erase_if(granted, [&](const LockName& name) { return name.session == session; });
  return granted;
}

bool LockTable::granted(LockName name) const {
  const auto place = places_.find(name);
  return place != places_.end() && place->second.entry->granted;
}

std::vector<std::uint64_t> LockTable::blockers(LockName name) const {
  std::vector<std::uint64_t> sessions;
  const auto place = places_.find(name);
  if (place == places_.end()) return sessions;
  const Queue& queue = queues_.at(place->second.inode);
  for (auto entry = queue.begin(); entry != Queue::const_iterator(place->second.entry); ++entry) {
    if (conflict(entry->range, place->second.entry->range)) sessions.push_back(entry->name.session);
  }
  std::sort(sessions.begin(), sessions.end());
  sessions.erase(std::unique(sessions.begin(), sessions.end()), sessions.end());
  return sessions;
}

std::size_t LockTable::size_of(std::uint64_t session) const {
  return static_cast<std::size_t>(std::distance(places_.lower_bound(LockName{session, 0}),
                                                places_.lower_bound(LockName{session + 1, 0})));
}

}  // namespace tutti::meta
