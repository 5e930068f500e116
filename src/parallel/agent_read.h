// AgentRead: executes a read whose aggregators only see to the order in which the servers get their bytes: after that
// every rank reads its own directly.
//
// For collective.cc only. In the form `reread` aggregators read all that anybody wants of their parts, and keep what is
// theirs; when all have done so, each rank reads what it lacks, which the servers have in memory by then; in the form
// `reread_all` aggregators do not keep theirs, and read it once more too. In the form `prefetch` aggregators have the servers fetch it; when that is queued everywhere, each rank reads its own. The bytes of
// the next round are fetched while those of this one are read, so that the servers hold two rounds at a time.
#pragma once

#include <vector>

#include "layout/view_range.h"
#include "parallel/collective_file.h"
#include "parallel/packed_round.h"
#include "parallel/room.h"
#include "parallel/turns.h"
#include "parallel/typed_memory.h"

namespace tutti {

class AgentRead {
 public:
  // `views` are what all ranks want, in the order of ranks; only an aggregator needs them. The references must outlive
  // the object.
  AgentRead(Group& group, CollectiveFile& file, const Arrangement& arrangement, const TypedMemory& memory,
            const ViewRange& mine, std::vector<ViewRange> views, const CollectiveOptions& options);

  // An error of the group. What went wrong at the servers is in failure().
  Task<Status> run();
  [[nodiscard]] const Status& failure() const { return failure_; }
  // A read met the end of the file.
  [[nodiscard]] bool short_read() const { return short_read_; }

 private:
  Task<Status> run_reread();
  Task<Status> run_prefetch();
  // As an aggregator.
  Task<Status> read_parts_of_all();
  Task<Status> fetch(std::size_t round);
  PackedRound::Wanted wanted_in(const Round& round);
  // As a rank: its bytes in these parts, which ascend.
  Task<Status> read_own(std::vector<Extent> parts);
  void keep_own(std::span<const std::byte> bytes);
  // What this rank does not have of its own after reading as an aggregator.
  [[nodiscard]] std::vector<Extent> other_parts() const;
  [[nodiscard]] std::vector<Extent> parts_of_round(std::size_t round) const;

  Group& group_;
  CollectiveFile& file_;
  const Arrangement& arrangement_;
  const TypedMemory& memory_;
  const ViewRange& mine_;
  std::vector<ViewRange> views_;
  const CollectiveOptions& options_;
  const Aggregator* own_ = nullptr;  // null: no aggregator
  std::size_t rounds_ = 0;
  PackedRound round_;
  Room buffer_;
  Status failure_;
  bool short_read_ = false;
};

}  // namespace tutti
