// Exchange: executes a schedule with aggregators: bytes travel between ranks, then between aggregators and
// servers.
//
// For collective.cc only. While an aggregator moves the bytes of one round, the ranks exchange those of the
// next. An aggregator holds the bytes of two rounds (packed_round.h) and the messages of their ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "layout/view_range.h"
#include "parallel/collective_file.h"
#include "parallel/packed_round.h"
#include "parallel/room.h"
#include "parallel/turns.h"
#include "parallel/typed_memory.h"

namespace tutti {

class Exchange {
 public:
  // `views` are what all ranks want, in the order of ranks; only an aggregator needs them. The references
  // must outlive the object.
  Exchange(Group& group, CollectiveFile& file, const Arrangement& arrangement, const TypedMemory& memory,
           const ViewRange& mine, std::vector<ViewRange> views, const CollectiveOptions& options);

  // An error of the group. What went wrong at the servers is in failure().
  Task<Status> write();
  Task<Status> read();

  // The first error of this rank as an aggregator; it goes on exchanging then, but moves no more.
  [[nodiscard]] const Status& failure() const { return failure_; }
  // A read met the end of the file.
  [[nodiscard]] bool short_read() const { return short_read_; }
  // How large the buffer of a round has become: as large as the largest round of this rank.
  [[nodiscard]] Bytes round_memory() const;

 private:
  // This rank's bytes for an aggregator or from it.
  struct Message {
    std::size_t aggregator = 0;   // its place in the schedule
    std::vector<PlacedRun> runs;  // stretches of this rank's data, in the order of the message
    bool direct = false;          // they are one stretch of the caller's memory, which is then `bytes`
    std::span<std::byte> bytes;
  };
  // Another rank's bytes in this aggregator's round.
  struct Parcel {
    int rank = 0;
    std::span<std::byte> bytes;
  };
  // One round on its way. Two of them take turns.
  struct Slot {
    std::vector<Message> messages;
    std::vector<Parcel> parcels;
    Room room;  // for messages that are not in the caller's memory, and parcels
    std::vector<Outgoing> send;
    std::vector<Incoming> receive;
    // An aggregator's own round.
    PackedRound round;
    Room buffer;
    std::span<std::byte> bytes;  // of the buffer
  };

  [[nodiscard]] const Round* round_of(std::size_t aggregator, std::size_t round) const;
  // This rank's stretches in a round, and how many bytes they have.
  std::size_t cut(const Round& round, std::vector<PlacedRun>& runs) const;
  // Finds the messages and parcels of a round and gives them their places.
  void address(std::size_t round, Slot& slot) const;
  void find_messages(std::size_t round, Slot& slot, std::vector<std::size_t>& lengths) const;
  void find_parcels(std::size_t round, Slot& slot, std::vector<std::size_t>& lengths) const;
  void open(const Round& round, Slot& slot) const;
  [[nodiscard]] const ViewRange& view_of(int rank) const { return views_[static_cast<std::size_t>(rank)]; }

  Task<Status> exchange_for_write(std::size_t round, Slot& slot);
  Task<Status> write_round(std::size_t round, Slot& slot);
  Task<Status> read_round(std::size_t round, Slot& slot);
  Task<Status> exchange_after_read(std::size_t round, Slot& slot);
  // The first round, in this rank's turn.
  Task<Status> read_first();

  Group& group_;
  CollectiveFile& file_;
  const Arrangement& arrangement_;
  const Schedule& schedule_;
  const TypedMemory& memory_;
  const ViewRange& mine_;
  std::vector<ViewRange> views_;
  const CollectiveOptions& options_;
  std::size_t own_;  // this rank's place in the schedule; its length if it has none
  std::size_t rounds_ = 0;
  Slot slots_[2];
  Status failure_;
  bool short_read_ = false;
};

}  // namespace tutti
