#include "client/transfer/transfer.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/transfer/gather.h"

namespace tutti {
namespace {

// One transfer on its way; the functions are its steps, in their order.
class Transfer {
 public:
  Transfer(StripedFile& file, bool write) : file_(file), write_(write) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() = default;

  Status split_and_order(std::span<const Extent> extents, std::span<const Segment> memory) {
    TUTTI_TRY(check_lists(extents, memory).with_context(file_.path));
    shares_ = split(file_.layout(), extents, memory);
    const VisitFacts facts{file_.options.application, file_.options.client,
                           file_.capability.capability().file(), write_};
    visits_ = order_visits(file_.order, file_.layout(), shares_, facts);
    for (const Share& share : shares_) bottleneck_ = std::max(bottleneck_, share.length);
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
    for (const Share& share : shares_) facts.length += share.length;
    facts.bottleneck = bottleneck_;
    passage_.emplace(*file_.options.gate, facts);
    return passage_->enter();
  }

  void cut() { pieces_ = Pieces::cut(shares_, visits_, PieceLimits{file_.options.piece}); }

  // Whether nothing is left to ask for.
  bool read_ahead() {
    pieces_.drop([&](const Piece& piece) {
      LocalReads& local = file_.local_reads[piece.slot];
      return local.allowed_ahead() && local.read_ahead(piece, file_.env.clock.steady());
    });
    return pieces_.empty();
  }

  Task<Status> send() {
    sender_.emplace(file_, write_, file_.servers.tags.next(bottleneck_), pieces_, shares_.size());
    return sender_->send();
  }
  [[nodiscard]] bool short_read() const { return sender_ && sender_->short_read(); }

  // What the caller is told.
  [[nodiscard]] Status outcome(const Status& status) const {
    if (status.ok()) return {};
    return status.with_context(fmt::format("{} {}", write_ ? "write" : "read", file_.path));
  }

 private:
  StripedFile& file_;
  bool write_;
  Shares shares_;
  Visits visits_;
  Bytes bottleneck_;  // of the most loaded server
  std::optional<GatePassage> passage_;
  Pieces pieces_;
  std::optional<Sender> sender_;
};

}  // namespace

Task<Result<Bytes>> read_extents(StripedFile& file, FileExtents extents, Segments memory) {
  Transfer transfer(file, false);
  TUTTI_CO_TRY(transfer.split_and_order(extents.list(), memory));
  if (transfer.empty()) co_return 0_B;
  if (transfer.gated()) TUTTI_CO_TRY(transfer.outcome(co_await transfer.enter()));
  transfer.cut();
  if (!transfer.read_ahead()) TUTTI_CO_TRY(transfer.outcome(co_await transfer.send()));
  if (!transfer.short_read()) co_return bytes_before(Bytes::max(), extents.list());
  const Question question{Question::Kind::length};
  const Result<Bytes> length = co_await ask_every_server(file.servers, file.capability, question);
  if (!length.ok()) co_return transfer.outcome(length.status());
  co_return bytes_before(*length, extents.list());
}

Task<Status> write_extents(StripedFile& file, FileExtents extents, Segments memory) {
  Transfer transfer(file, true);
  TUTTI_CO_TRY(transfer.split_and_order(extents.list(), memory));
  if (transfer.empty()) co_return Status();
  if (transfer.gated()) TUTTI_CO_TRY(transfer.outcome(co_await transfer.enter()));
  transfer.cut();
  file.written = true;
  const Status status = co_await transfer.send();
  co_return transfer.outcome(status);
}

}  // namespace tutti
