#include "client/transfer/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/transfer/gather.h"
#include "env/combine.h"

namespace tutti {
namespace {

// To find the end of a file, or to write to one, that others cut and extend all the time; then what was found or written
// last counts.
constexpr int kMostAttempts = 16;
// What seems to be a hole in what has just been written is looked at so often again, after pauses that double.
constexpr int kLooks = 7;
constexpr Nanos kFirstPause = 500_us;
// Of a call that servers put in the order of their disks: small enough that the parts of all who take part alternate.
constexpr Bytes kDirectedPiece = 256_KiB;
constexpr std::size_t kPrefetchExtents = 1024;  // in one message
// A transfer of so many bytes, and so many rounds of stripes, is begun with one round if that may bring leave to do the rest
// without asking. Where it does not, the round is moved twice: it must be a small part.
constexpr Bytes kWorthAGrant = 2_MiB;
constexpr std::uint64_t kRoundsWorthAGrant = 32;

// So many runs of one object are read in the order of the file, in turns with those of the others: the memory that they fill
// is then filled from its begin to its end, which is faster than once for each server.
constexpr std::size_t kManyRuns = 16;

// A stripe on every server of the file.
Bytes one_round(const Layout& layout) { return layout.stripe_size * layout.stripe_count; }

// The first `length` bytes of both lists, and the others.
struct Parts {
  std::vector<Extent> head, tail;
  Segments head_memory, tail_memory;
};
Parts parts_of(std::span<const Extent> extents, std::span<const Segment> memory, Bytes length) {
  Parts parts;
  Bytes left = length;
  for (const Extent& extent : extents) {
    const Bytes first = std::min(left, extent.length);
    if (first > 0_B) parts.head.push_back({extent.offset, first});
    if (first < extent.length) parts.tail.push_back({extent.offset + first, extent.length - first});
    left -= first;
  }
  std::uint64_t bytes = length.count();
  for (const Segment& segment : memory) {
    const std::uint64_t first = std::min(bytes, segment.length);
    if (first > 0) parts.head_memory.push_back({segment.address, first});
    if (first < segment.length)
      parts.tail_memory.push_back({segment.address + first, segment.length - first});
    bytes -= first;
  }
  return parts;
}

// One transfer on its way; the functions are its steps, in their order.
class Transfer {
 public:
  Transfer(StripedFile& file, bool write, const ViewUse& view) : file_(file), write_(write), view_(view) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() = default;

  Status split_shares(std::span<const Extent> extents, std::span<const Segment> memory) {
    TUTTI_TRY(check_lists(extents, memory).with_context(file_.path));
    shares_ = split(file_.layout(), extents, memory);
    for (const Share& share : shares_) bottleneck_ = std::max(bottleneck_, share.length);
    const auto lock = file_.locks.covering(file_.capability.capability().file(), extents);
    if (!lock.ok()) return outcome(lock.status());
    lock_ = *lock;
    return {};
  }
  [[nodiscard]] bool empty() const { return shares_.empty(); }

  [[nodiscard]] bool gated() const { return file_.options.gate != nullptr; }
  Task<Status> enter() {
    TransferFacts facts;
    facts.file = file_.capability.capability().file();
    facts.application = file_.options.application;
    facts.client = file_.options.client;
    facts.write = write_;
    facts.length = length();
    facts.bottleneck = bottleneck_;
    passage_.emplace(*file_.options.gate, facts);
    return passage_->enter();
  }

  void cut() {
    PieceLimits limits{file_.visit.block};
    // Extents that are not sent cost nothing on the way; a server that refuses the view gets as many in a list.
    if (view_.view != nullptr) limits.entries = wire::kMaxExtents;
    if (view_.call != nullptr) limits.bytes = std::min(limits.bytes, kDirectedPiece);
    pieces_ = Pieces::cut(shares_, limits);
  }

  // Whether nothing is left to ask for.
  bool read_ahead() {
    pieces_.drop([&](const Piece& piece) {
      LocalReads& local = file_.local_reads[piece.slot];
      return local.allowed_ahead() && local.read_ahead(piece, file_.env.clock.steady());
    });
    return pieces_.empty();
  }

  // Whether a grant, which costs a small request, would be worth it.
  [[nodiscard]] bool may_be_granted() {
    if (write_ ? !suits_local_writes() : !has_many_runs()) return false;
    if (length() < std::max(kWorthAGrant, one_round(file_.layout()) * kRoundsWorthAGrant)) return false;
    const Nanos now = file_.env.clock.steady();
    return std::all_of(shares_.begin(), shares_.end(), [&](const Share& share) {
      const ServerSession& server = file_.servers.of(share.slot);
      return server.connected() && server.channel()->connection().takes_files() &&
             (write_ ? local(share).may_be_allowed(now) : reads(share).may_be_allowed(now));
    });
  }
  void was_not_granted() {
    const Nanos now = file_.env.clock.steady();
    for (const Share& share : shares_) {
      if (write_) {
        local(share).was_in_vain(now);
      } else {
        reads(share).was_in_vain(now);
      }
    }
  }

  // Whether all of it is moved, without asking, in the order of the file.
  bool move_unasked(std::span<const Extent> extents, std::span<const Segment> memory) {
    return write_ ? write_unasked(extents, memory) : read_unasked(extents, memory);
  }

  Task<Status> send() {
    sender_.emplace(file_, write_, file_.servers.tags.next(bottleneck_), lock_, pieces_, shares_.size(),
                    view_);
    return sender_->send();
  }
  // What was not there; asked once for each sending.
  [[nodiscard]] ShortPieces short_pieces() {
    return sender_ ? std::exchange(sender_->short_pieces(), {}) : ShortPieces();
  }
  // Leaves those pieces to be sent, and no others: these are all there.
  void keep(const ShortPieces& pieces) {
    pieces_.drop([&](const Piece& piece) {
      const bool kept = std::any_of(pieces.begin(), pieces.end(),
                                    [&](const ShortPiece& each) { return each.name == piece.object.data(); });
      if (!kept) present_end_ = std::max(present_end_, present_end(piece, file_.layout(), Bytes::max()));
      return !kept;
    });
  }
  // By asking, all of it.
  Task<Status> ask() {
    cut();
    Status status = co_await send();
    for (int attempt = 1; write_ && status.ok() && attempt < kMostAttempts && keep_torn(); ++attempt)
      status = co_await send();
    co_return status;
  }
  // Leaves the pieces to be sent whose object was cut between them, so that all of the write comes after the cut. Whether
  // there are any.
  bool keep_torn() {
    pieces_.drop([this](const Piece& piece) { return !sender_->torn(piece.slot); });
    return !pieces_.empty();
  }
  // The end of all that was there.
  [[nodiscard]] Bytes present_end_of(const ShortPieces& pieces) const {
    Bytes end = present_end_;
    for (const ShortPiece& each : pieces) end = std::max(end, each.present_end);
    return end;
  }
  // From the beginning.
  void cut_again() {
    present_end_ = 0_B;
    cut();
  }

  // What the caller is told.
  [[nodiscard]] Status outcome(const Status& status) const {
    if (status.ok()) return {};
    return status.with_context(fmt::format("{} {}", write_ ? "write" : "read", file_.path));
  }

 private:
  [[nodiscard]] Bytes length() const {
    Bytes length;
    for (const Share& share : shares_) length += share.length;
    return length;
  }
  // What is written under a lock must be refused once that is lost, and a directed call is in the hands of the servers.
  [[nodiscard]] bool suits_local_writes() const { return lock_.number() == 0 && view_.call == nullptr; }
  [[nodiscard]] bool has_many_runs() const {
    return view_.call == nullptr && std::any_of(shares_.begin(), shares_.end(), [](const Share& share) {
             return share.object.size() >= kManyRuns;
           });
  }
  [[nodiscard]] LocalWrites& local(const Share& share) { return file_.local_writes[share.slot]; }
  [[nodiscard]] LocalReads& reads(const Share& share) { return file_.local_reads[share.slot]; }

  bool read_unasked(std::span<const Extent> extents, std::span<const Segment> memory) {
    if (!has_many_runs()) return false;
    const Nanos now = file_.env.clock.steady();
    for (const Share& share : shares_) {
      if (!reads(share).allowed_ahead(share.object, share.length, now)) return false;
    }
    const bool whole = for_each_stripe(
        file_.layout(), extents, memory,
        [this](std::uint32_t slot, Bytes offset, Bytes length, std::span<const Segment> into) {
          return file_.local_reads[slot].read_allowed(offset, length, into);
        });
    if (!whole) return false;
    for (const Share& share : shares_) reads(share).count_allowed(share.length);
    return true;
  }

  bool write_unasked(std::span<const Extent> extents, std::span<const Segment> memory) {
    if (!suits_local_writes()) return false;
    const Nanos now = file_.env.clock.steady();
    for (const Share& share : shares_) {
      if (!local(share).allowed(share.length, now)) return false;
    }
    // Whatever it is mapped from is waited for here, not inside the object.
    bring_in(memory, false);
    // In the order of the file, so that who reads it meanwhile finds no hole before what is there.
    SmallVector<SharedRun, 4> runs;
    for_each_stripe(file_.layout(), extents, memory,
                    [&](std::uint32_t slot, Bytes offset, Bytes, std::span<const Segment> from) {
                      for (const Segment& segment : from) {
                        runs.push_back(file_.local_writes[slot].run(offset, segment));
                        offset += Bytes(segment.length);
                      }
                      return true;
                    });
    if (!write_runs({runs.data(), runs.size()}).ok()) {
      for (const Share& share : shares_) local(share).forbid();
      return false;
    }
    bool settled = true;
    for (const Share& share : shares_) {
      if (!local(share).settled(share.length)) settled = false;
    }
    if (!settled) return false;
    for (const Share& share : shares_) file_.unsynced.wrote(share.slot, local(share).era());
    return true;
  }

  StripedFile& file_;
  bool write_;
  ViewUse view_;
  Shares shares_;
  Bytes bottleneck_;   // of the most loaded server
  wire::Lock lock_;    // under which it is made
  Bytes present_end_;  // of the pieces that need not be sent again
  std::optional<GatePassage> passage_;
  Pieces pieces_;
  std::optional<Sender> sender_;
};

}  // namespace

namespace {

// Asks for the first bytes alone; the answers may allow the others without asking. Whether all are moved; those of a write with
// no cut between them: that would have ended what was allowed.
Task<Result<bool>> move_head_first(StripedFile& file, bool write, std::span<const Extent> extents,
                                   std::span<const Segment> memory, const ViewUse& view) {
  const Parts parts = parts_of(extents, memory, one_round(file.layout()));
  Transfer head(file, write, view);
  TUTTI_CO_TRY(head.split_shares(parts.head, parts.head_memory));
  TUTTI_CO_TRY(co_await head.ask());
  if (!head.short_pieces().empty()) co_return false;
  Transfer tail(file, write, view);
  TUTTI_CO_TRY(tail.split_shares(parts.tail, parts.tail_memory));
  co_return tail.move_unasked(parts.tail, parts.tail_memory);
}

}  // namespace

Task<Result<Bytes>> read_extents(StripedFile& file, FileExtents extents, Segments memory, ViewUse view) {
  Transfer transfer(file, false, view);
  TUTTI_CO_TRY(transfer.split_shares(extents.list(), memory));
  if (transfer.empty()) co_return 0_B;
  if (transfer.gated()) TUTTI_CO_TRY(transfer.outcome(co_await transfer.enter()));
  const auto all_of_it = [&] {
    file.read_to(extents.list().back().end());
    return bytes_before(Bytes::max(), extents.list());
  };
  if (transfer.move_unasked(extents.list(), memory)) co_return all_of_it();
  if (transfer.may_be_granted()) {
    const Result<bool> all = co_await move_head_first(file, false, extents.list(), memory, view);
    if (!all.ok()) co_return transfer.outcome(all.status());
    if (*all) co_return all_of_it();
    transfer.was_not_granted();
  }
  transfer.cut();
  if (!transfer.read_ahead()) TUTTI_CO_TRY(transfer.outcome(co_await transfer.send()));
  ShortPieces missing = transfer.short_pieces();
  Bytes end = Bytes::max();
  const Bytes known = file.known_end ? std::max(*file.known_end, file.written_end) : Bytes::max();
  int looks = 0;
  for (int attempt = 0; !missing.empty() && attempt < kMostAttempts; ++attempt) {
    const Question question{Question::Kind::length};
    const Result<Bytes> length = co_await ask_every_server(file.servers, file.capability, question);
    if (!length.ok()) co_return transfer.outcome(length.status());
    end = *length;
    transfer.keep(missing);
    const bool shorter = end < transfer.present_end_of(missing);
    if (!shorter && ends_at(missing, end)) break;
    if (shorter) transfer.cut_again();
    TUTTI_CO_TRY(transfer.outcome(co_await transfer.send()));
    const ShortPieces before = std::exchange(missing, transfer.short_pieces());
    if (missing.empty()) end = Bytes::max();
    if (!shorter && holes(before, missing)) {
      if (looks == kLooks || !appeared(missing, known, *length)) break;
      co_await file.env.clock.sleep(kFirstPause * (std::int64_t{1} << looks++));
    }
  }
  if (end == Bytes::max()) co_return all_of_it();
  file.known_end = end;
  co_return bytes_before(end, extents.list());
}

Task<Status> write_extents(StripedFile& file, FileExtents extents, Segments memory, ViewUse view) {
  Transfer transfer(file, true, view);
  TUTTI_CO_TRY(transfer.split_shares(extents.list(), memory));
  if (transfer.empty()) co_return Status();
  if (transfer.gated()) TUTTI_CO_TRY(transfer.outcome(co_await transfer.enter()));
  file.written = true;
  for (const Extent& extent : extents.list()) {
    if (extent.length > 0_B) file.written_end = std::max(file.written_end, extent.end());
  }
  if (transfer.move_unasked(extents.list(), memory)) co_return Status();
  ++file.unfinished_writes;
  Status status;
  bool written = false;
  if (transfer.may_be_granted()) {
    const Result<bool> granted = co_await move_head_first(file, true, extents.list(), memory, view);
    status = granted.status();
    written = granted.ok() && *granted;
    if (!written) transfer.was_not_granted();
  }
  if (status.ok() && !written) status = co_await transfer.ask();
  if (status.ok()) --file.unfinished_writes;
  co_return transfer.outcome(status);
}

Task<Status> prefetch_extents(StripedFile& file, FileExtents extents) {
  // One byte of memory for each of the file, of which only the length counts.
  Segments nowhere;
  for (const Extent& extent : extents.list()) {
    if (extent.length > 0_B) nowhere.push_back(Segment{0, extent.length.count()});
  }
  TUTTI_CO_TRY(check_lists(extents.list(), nowhere).with_context(file.path));
  const Shares shares = split(file.layout(), extents.list(), nowhere);
  Bytes bottleneck;
  for (const Share& share : shares) bottleneck = std::max(bottleneck, share.length);
  std::vector<Task<Status>> tasks;
  for (const Share& share : shares) {
    for (std::size_t at = 0; at < share.object.size(); at += kPrefetchExtents) {
      const std::size_t count = std::min(kPrefetchExtents, share.object.size() - at);
      tasks.push_back(ask_prefetch(file.servers, file.capability, share.slot,
                                   std::span<const Extent>(share.object).subspan(at, count), bottleneck));
    }
  }
  if (tasks.empty()) co_return Status();
  for (Status& status : co_await when_all(std::move(tasks))) {
    if (!status.ok()) co_return status.with_context("prefetch " + file.path);
  }
  co_return Status();
}

}  // namespace tutti
