// Send: the step of a transfer in which its pieces are sent, some at a time, until each has its answer.
//
// A piece is one message, repeated by ServerSession::ask() after a lost connection, while the server is busy, and with a
// renewed capability. The first error ends the transfer; what is in flight then is waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "client/transfer/cut.h"
#include "client/transfer/declared_view.h"
#include "client/transfer/file_end.h"
#include "client/transfer/order.h"
#include "client/transfer/striped_file.h"
#include "client/write_numbers.h"

namespace tutti {

// Memory named to a server for the time of one attempt. If the request is given up, the connection goes with it: a
// server must not find the memory in another use.
class ExposedMemory {
 public:
  ExposedMemory(std::shared_ptr<Channel> channel, std::span<const Segment> memory, Access access)
      : channel_(std::move(channel)), region_(channel_->connection().expose(memory, access)) {}
  ExposedMemory(const ExposedMemory&) = delete;
  ExposedMemory& operator=(const ExposedMemory&) = delete;
  ~ExposedMemory() {
    if (!answered_) channel_->connection().release();
    channel_->connection().withdraw(region_);
  }
  [[nodiscard]] std::uint64_t region() const { return region_; }
  void answered() { answered_ = true; }

 private:
  std::shared_ptr<Channel> channel_;
  std::uint64_t region_;
  bool answered_ = false;
};

// What all pieces of a transfer have in common.
struct Sending {
  StripedFile& file;
  bool write = false;
  wire::Tag tag;         // the same in all pieces: servers order operations, not messages
  wire::Lock lock;       // under which it is made; number 0: none
  bool several = false;  // pieces
  ViewUse view = {};     // through which it is made
  ShortPieces short_pieces = {};
  // Of a write in several pieces: the cuts of its objects when they were applied, by slot.
  struct Applied {
    std::uint32_t slot = 0;
    std::uint64_t cuts = 0;
    bool torn = false;  // not the same for all pieces
  };
  std::vector<Applied> applied = {};
  void note_applied(std::uint32_t slot, std::uint64_t cuts);
};

// One piece, as ServerSession::ask() wants it.
class PieceRequest {
 public:
  // `last`: of those for its server.
  PieceRequest(Sending& sending, const Piece& piece, bool last)
      : sending_(sending), piece_(piece), last_(last) {
    if (sending.write) number_.emplace(server().write_numbers());
  }

  [[nodiscard]] ServerSession& server() const { return sending_.file.servers.of(piece_.slot); }
  [[nodiscard]] std::uint16_t type() const;
  Result<std::span<const std::byte>> message(flatbuffers::FlatBufferBuilder& builder,
                                             const std::shared_ptr<Channel>& channel);
  Answer ended(Result<Channel::Reply>& reply, const std::shared_ptr<Channel>& channel, Nanos asked);
  Task<Status> renew() { return sending_.file.capability.renew(shown_); }
  // The lock is held, and will not be lost behind the back of this connection's server.
  [[nodiscard]] bool prepared() const {
    const std::uint64_t lock = sending_.lock.number();
    return lock == 0 || sending_.file.locks.held_since(lock, server().connected_at());
  }
  Task<Status> prepare() { return sending_.file.locks.confirm(sending_.lock.number()); }

 private:
  // The turn at the gate in which an attempt is made now; 0: none.
  [[nodiscard]] std::uint64_t turn() const;
  // The server lets it wait, perhaps because the job has lost that turn: it waits for another one, but not for long.
  Answer held_back(Answer answer);
  // Whether this attempt names a range of the transfer's view instead of extents.
  [[nodiscard]] bool may_name_view() const;
  [[nodiscard]] wire::DirectedCall directed_call() const;
  // Of an attempt that did and failed: what is to be done instead, if anything.
  std::optional<Answer> without_view(const Status& status);
  Answer wrote(const wire::TransferReply& reply, const std::shared_ptr<Channel>& channel, Nanos asked);
  Answer read(const wire::TransferReply& reply, const std::shared_ptr<Channel>& channel, Nanos asked);

  Sending& sending_;
  const Piece& piece_;
  bool last_;
  std::uint64_t shown_ = 0;  // the version of the capability in the last attempt
  std::optional<WriteNumber> number_;
  std::optional<ExposedMemory> memory_;
  bool by_view_ = false;            // the last attempt named a range of the view
  std::uint64_t turn_ = 0;          // of the last attempt
  std::optional<Nanos> held_back_;  // since when attempts in a turn are held back
};

// Sends the pieces of one transfer.
class Sender {
 public:
  // `servers` is how many servers the transfer touches: unless the file says how many pieces may be in flight, there is room
  // for one on each, however many they are, because one that learns of the operation late serves it late. `pieces` must
  // outlive it; there is at least one.
  Sender(StripedFile& file, bool write, const wire::Tag& tag, const wire::Lock& lock, const Pieces& pieces,
         std::size_t servers, const ViewUse& view = {});

  Task<Status> send();
  // The pieces of which a server had fewer bytes than were to be read; what it lacked is zeros in memory.
  [[nodiscard]] ShortPieces& short_pieces() { return sending_.short_pieces; }
  // Whether the object of the slot was cut between pieces of this write: those before the cut are lost.
  [[nodiscard]] bool torn(std::uint32_t slot) const;

 private:
  Task<Status> send_many();
  Task<Status> send_some(Flight& flight, Event& landed);
  [[nodiscard]] VisitFacts facts() const;
  // Of the pieces for its server, in the order of the list.
  [[nodiscard]] bool is_last(std::size_t piece) const;

  Sending sending_;
  const Pieces& pieces_;
  std::size_t servers_;
  std::optional<PieceRequest> only_;  // the request of a transfer of one piece
};

}  // namespace tutti
