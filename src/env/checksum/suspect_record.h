// SuspectRecord: which blocks may differ from their stored checksums when the machine or the process stops now.
//
// A stored sum is durable, and so are the bytes that it was made of. Before such a block is changed, its range stands
// here, durably; it goes when bytes and new sum are durable. So after any stop a sum that does not agree is stale if the
// block is listed, and bit rot if it is not.
//
// Two objects of the store of sums take turns, so that one of them is whole whenever power is lost. Both are written in
// full when they are made: listing a range needs no space on a full disk. When there are too many ranges of an object
// they become one; when there are too many objects, all blocks of all objects are listed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "env/rounds.h"
#include "env/scope.h"
#include "env/store.h"
#include "env/task.h"

namespace tutti {

class SuspectRecord {
 public:
  static constexpr std::size_t kMostRanges = 4096;
  static constexpr std::size_t kMostOfObject = 16;

  struct Range {
    ObjectId object;
    std::uint64_t first = 0;  // block
    std::uint64_t end = 0;    // block after the last one
  };
  // Objects of the store of sums that hold no sums.
  static bool reserved(ObjectId object);
  // As an object: all of them.
  static constexpr ObjectId kAll{~std::uint64_t{0}};

  // The store must outlive this.
  SuspectRecord(Executor& executor, Store& sums) : sums_(sums), scope_(executor) {}

  // Once, before anything else: what was listed when the process before ended. It stays listed.
  Task<Result<std::vector<Range>>> open();
  // Ends when the range is listed durably.
  Task<Status> list(Range range);
  // Whether it is.
  [[nodiscard]] bool listed(const Range& range) const;
  [[nodiscard]] bool has(ObjectId object) const { return now_.ranges.contains(object) || now_.all; }
  // Takes the object off the list; until flush() the stop of the process may find it there still.
  void drop(ObjectId object) { now_.ranges.erase(object); }
  Task<Status> flush();
  // Takes everything off the list.
  Task<Status> clear();

 private:
  using Ranges = std::map<ObjectId, std::vector<std::pair<std::uint64_t, std::uint64_t>>>;
  struct List {
    Ranges ranges;
    bool all = false;
    bool operator==(const List&) const = default;
    [[nodiscard]] bool covers(const Range& range) const;
    void add(const Range& range);
  };
  Task<Status> write();
  Task<Result<std::optional<std::vector<std::byte>>>> read(ObjectId slot);

  Store& sums_;
  List now_;
  List durable_;
  std::optional<List> writing_;
  std::uint64_t sequence_ = 0;  // of the last one that was written
  std::shared_ptr<Rounds> rounds_ = std::make_shared<Rounds>();
  Scope scope_;
};

}  // namespace tutti
