// ReplayRecords: which changes of a client were applied, so that one that is repeated after a lost answer is not applied
// again and undoes nothing that came between.
//
// A client numbers its changes and says up to which number it has the answers, so a record holds as many as are in flight.
// It outlives the session, for kKept clients; the process it does not outlive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"

namespace tutti {

// What was applied of the changes of one client.
class ReplayRecord {
 public:
  // The client has the answers to all numbers below this.
  void forget_before(std::uint64_t number);
  // How many of `length` bytes were applied, from the begin on; 0 if nothing is known of it. A part counts only if the
  // object was not cut since: see Dispatcher::begin_anew().
  [[nodiscard]] Bytes applied(std::uint64_t number, Bytes length, std::uint64_t cuts) const;
  // The cuts of the object when it was noted; nothing if nothing is known of it.
  [[nodiscard]] std::optional<std::uint64_t> cuts(std::uint64_t number) const;
  // So many were. Beyond kMost the smallest number is forgotten: no honest client has so many in flight.
  void note(std::uint64_t number, Bytes bytes, std::uint64_t cuts);
  [[nodiscard]] std::size_t size() const { return changes_.size(); }

 private:
  static constexpr std::size_t kMost = 8192;
  struct Change {
    std::uint64_t number = 0;
    Bytes applied;
    std::uint64_t cuts = 0;  // when it was noted
  };
  std::vector<Change> changes_;  // by number, ascending
};

class ReplayRecords {
 public:
  static constexpr std::size_t kKept = 4096;

  // That of a client, whose session has begun. In use by one session at a time.
  std::shared_ptr<ReplayRecord> open(std::uint32_t uid, std::uint64_t client);
  // The session has ended.
  void close(std::uint32_t uid, std::uint64_t client);
  [[nodiscard]] std::size_t size() const { return records_.size(); }

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;
  struct Entry {
    std::shared_ptr<ReplayRecord> record;
    std::list<Key>::iterator place;  // in gone_, if it is there
    bool gone = false;
  };
  std::map<Key, Entry> records_;
  std::list<Key> gone_;  // without a session, the longest gone first
};

}  // namespace tutti
