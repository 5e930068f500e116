// SocketMover: bulk data on the connection's own socket; both ends of it.
//
// The serving end asks for bytes (pull) or sends them (push) in pieces; the exposing end answers straight
// from, or receives straight into, the memory it has exposed. Pushed bytes of a region that was withdrawn meanwhile
// are dropped. It also keeps the table of exposed regions,
// which every connection needs, whatever its mover.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "env/real/loop/loop.h"
#include "env/real/network/early_bytes.h"
#include "env/real/network/frame_reader.h"
#include "env/real/network/frame_writer.h"
#include "env/real/network/grants_watch.h"
#include "env/real/network/mover.h"
#include "env/scope.h"
#include "env/sync.h"

namespace tutti {

class SocketMover final : public Mover, public BulkSink, public ReadGrants::Holder {
 public:
  SocketMover(Loop& loop, FrameWriter& writer) : loop_(loop), writer_(writer) {}
  ~SocketMover() override;

  // From now on large regions are filled while the peer has a grant. `fd`: the socket.
  void grant_reads(GrantsWatch& grants, int fd);
  void hold() override;
  void grant() override;

  std::uint64_t expose(std::span<const Segment> segments, Access access);
  // Transfers of the region that are under way fail; its memory is not touched afterwards.
  void withdraw(std::uint64_t region);

  // Bytes that come with their requests (early_bytes.h). The exposing end: the region that the next request announces, or 0, whose
  // bytes are sent right behind it.
  [[nodiscard]] std::uint32_t take_announced() { return std::exchange(announced_, 0); }
  void send_early(std::uint32_t region);
  // The serving end: it may allow that to its client; a request has come, and announces a region, or 0.
  void allow_early() { may_allow_early_ = true; }
  void request_came(std::uint32_t follows);
  // Whether the bytes of the last request come next, and those who may want them should run before.
  [[nodiscard]] bool early_is_next() { return std::exchange(early_is_next_, false); }

  [[nodiscard]] bool needs_segments() const override { return false; }
  Task<Status> pull(const Region& from, Bytes offset, Places into) override;
  Task<Status> push(ConstPlaces from, const Region& to, Bytes offset) override;

  // Handles a transport frame that is not bulk. An error closes the connection.
  Status on_frame(const Frame& frame);
  // The connection is lost: ends all transfers with `status`.
  void fail(const Status& status);

  [[nodiscard]] std::optional<std::size_t> bulk_prefix(std::uint16_t type) const override;
  Status begin_bulk(const FrameHeader& header, std::span<const std::byte> prefix) override;
  std::size_t bulk_places(std::size_t at, std::size_t length, std::span<iovec> places) override;
  void end_bulk() override;
  [[nodiscard]] bool expects_bulk() const override {
    return !waiting_.empty() || writable_regions_ > 0 || early_pace_.allowed();
  }

 private:
  struct Exposed {
    std::vector<Segment> segments;
    Access access = Access::read;
    std::uint64_t length = 0;
    bool counted = false;  // the peer needs a grant to fill it
  };
  // One piece of a pull whose answer is awaited; lives in the frame of the operation.
  struct Piece;
  // An answer to a peer's pull that is being sent.
  struct Answer {
    Answer(Executor& executor, std::uint64_t region, std::uint64_t token)
        : region(region), token(token), scope(executor) {}
    std::uint64_t region;
    std::uint64_t token;  // 0: the peer did not ask for it
    bool done = false;
    Scope scope;
  };
  // The bulk frame that is being received.
  struct Incoming {
    bool is_push = false;
    std::uint64_t token = 0;
    std::uint64_t held_region = 0;  // early bytes that nobody wants yet
    PushTarget target;
    std::size_t length = 0;
    Code code = Code::ok;
  };

  [[nodiscard]] Code check(std::uint64_t region, std::uint64_t offset, std::uint64_t length,
                           Access access) const;
  Status start_answer(std::uint64_t token, const PullRequest& request);
  Task<void> answer(Answer& self, PullRequest request);
  // From early bytes. Code::not_found: they did not come, or not all; then they have to be asked for.
  Task<Status> take_early(std::uint64_t region, std::uint64_t offset, Places into);
  void begin_early(const FrameHeader& header);
  void forget_early(std::uint64_t region);
  Status send_code(TransportFrame type, std::uint64_t token, Code code);
  void send_word(TransportFrame type);
  // Packets that came out of order since the last call.
  std::uint64_t losses();

  Loop& loop_;
  FrameWriter& writer_;
  Status failed_;
  std::uint64_t next_region_ = 1;
  std::uint64_t next_token_ = 1;
  std::size_t writable_regions_ = 0;
  std::map<std::uint64_t, Exposed> exposed_;
  std::map<std::uint64_t, Piece*> waiting_;  // by token
  GrantsWatch* grants_ = nullptr;            // of the exposing end; null: everything may come at once
  int fd_ = -1;
  std::uint64_t losses_seen_ = 0;
  std::uint64_t frames_ = 0;     // pushed here so far
  std::shared_ptr<Event> held_;  // of the serving end: set when the peer grants; null: it may send
  std::list<Answer> answers_;
  bool sends_early_ = false;      // of the exposing end: the peer allows it
  std::uint32_t announced_ = 0;   // by the next request
  bool may_allow_early_ = false;  // of the serving end
  bool early_is_next_ = false;
  Nanos request_at_;  // when the loop had looked for the last request
  EarlyPace early_pace_;
  EarlyBytes early_;
  Incoming incoming_;
};

// Appends the parts of `segments` that make up [offset, offset + length) of their concatenation, as far as
// `parts` reaches. Returns how many were written.
std::size_t slice_segments(std::span<const Segment> segments, std::uint64_t offset, std::uint64_t length,
                           std::span<iovec> parts);

}  // namespace tutti
