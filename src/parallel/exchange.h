// Exchange: executes a schedule with aggregators: bytes travel between ranks, then between aggregators and
// servers.
//
// For collective.cc only. While an aggregator moves the bytes of one round, the ranks exchange those of the
// next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "parallel/collective.h"
#include "parallel/coverage.h"
#include "parallel/typed_memory.h"
#include "layout/view_range.h"

namespace tutti {

class Exchange {
 public:
  // `views` are what all ranks want, in the order of ranks; only an aggregator needs them. The references
  // must outlive the object.
  Exchange(Group& group, OpenFile& file, const Schedule& schedule, const TypedMemory& memory,
           const ViewRange& mine, std::vector<ViewRange> views, const CollectiveOptions& options);

  // An error of the group. What went wrong at the servers is in failure().
  Task<Status> write();
  Task<Status> read();

  // The first error of this rank as an aggregator; it goes on exchanging then, but moves no more.
  [[nodiscard]] const Status& failure() const { return failure_; }
  // A read met the end of the file.
  [[nodiscard]] bool short_read() const { return short_read_; }

 private:
  // The bytes of one round, on their way. Two of them take turns.
  struct Slot {
    std::vector<std::vector<std::byte>> packed;  // messages that are not in the caller's memory
    std::vector<Outgoing> send;
    std::vector<Incoming> receive;
    std::vector<std::vector<PlacedRun>> mine;  // by aggregator: this rank's part, in the order of the message
    // An aggregator's part of the file, and what is wanted of it.
    std::unique_ptr<std::byte[]> window;
    std::size_t room = 0;
    Extent span;
    Coverage coverage;
  };

  [[nodiscard]] const Round* round_of(std::size_t aggregator, std::size_t round) const;
  static std::int64_t bytes_in(const ViewRange& range, const Round& round);
  // A message to or from this rank for an aggregator: directly in the caller's memory where that is one run.
  std::span<std::byte> message(Slot& slot, std::size_t aggregator, const Round& round);
  void open_window(Slot& slot, const Round& round);
  template <typename Visit>
  void each_run(int rank, const Round& round, Slot& slot, Visit visit);

  Task<Status> exchange_for_write(std::size_t round, Slot& slot);
  Task<Status> write_window(std::size_t round, Slot& slot);
  Task<Status> read_window(std::size_t round, Slot& slot);
  Task<Status> exchange_after_read(std::size_t round, Slot& slot);

  Group& group_;
  OpenFile& file_;
  const Schedule& schedule_;
  const TypedMemory& memory_;
  const ViewRange& mine_;
  std::vector<ViewRange> views_;
  const CollectiveOptions& options_;
  std::size_t own_;  // this rank's place in the schedule; its length if it has none
  std::size_t rounds_ = 0;
  Slot slots_[2];
  std::vector<PlacedRun> runs_;
  Status failure_;
  bool short_read_ = false;
};

}  // namespace tutti
