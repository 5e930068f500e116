#include "client/transfer/local_read.h"

#include <algorithm>
#include <utility>

#include "client/transfer/gather.h"

namespace tutti {
namespace {

// The key that a client names while it has no file of the server.
constexpr std::uint64_t kNoFileYet = 1;

}  // namespace

std::uint64_t LocalReads::key(const std::shared_ptr<Channel>& channel) {
  if (hopeless_ || !channel->connection().takes_files()) return 0;
  if (file_ != nullptr && channel_.lock() == channel) return key_;
  file_ = nullptr;
  forbid_ahead();
  return kNoFileYet;
}

bool LocalReads::expects_more(const Piece& piece, Bytes small) {
  return std::exchange(read_before_, true) || (piece.object.front().offset == 0_B && piece.length > small);
}

bool LocalReads::allowed_ahead(std::span<const Extent> extents, Bytes length, Nanos now) {
  if (!allowed_ahead()) return false;
  const auto channel = channel_.lock();
  if (channel == nullptr || channel->closed() || now >= ahead_until_) {
    forbid_ahead();
    return false;
  }
  return length <= ahead_left_ && std::all_of(extents.begin(), extents.end(), [this](const Extent& extent) {
           return extent.end() <= ahead_end_;
         });
}

bool LocalReads::read_allowed(Bytes offset, Bytes length, std::span<const Segment> into) {
  const auto got = file_->read(offset, into);
  if (got.ok() && *got == length) return true;
  forbid_ahead();  // cut off meanwhile: the server knows more
  return false;
}

void LocalReads::count_allowed(Bytes length) {
  ahead_left_ -= length;
  unreported_ = wire::Took(unreported_.bytes() + length.count(), unreported_.reads() + 1, 0, 0);
}

bool LocalReads::read_ahead(const Piece& piece, Nanos now) {
  if (!allowed_ahead(piece.object, piece.length, now)) return false;
  MemoryWalk walk(piece.memory);
  for (const Extent& extent : piece.object) {
    if (!read_allowed(extent.offset, extent.length, walk.next(extent.length))) return false;
  }
  count_allowed(piece.length);
  return true;
}

bool LocalReads::accept(const wire::TransferReply& reply, const std::shared_ptr<Channel>& channel) {
  if (file_ != nullptr && key_ == reply.taken()) return true;
  file_ = channel->connection().given(reply.taken());
  key_ = reply.taken();
  channel_ = channel;
  hopeless_ = file_ == nullptr;
  forbid_ahead();
  return !hopeless_;
}

Status LocalReads::read(const Piece& piece, const wire::TransferReply& reply, Nanos asked, bool& short_read) {
  allow_ahead(reply, asked);
  cut_meanwhile_ = false;
  MemoryWalk walk(piece.memory);
  for (const Extent& extent : piece.object) {
    const std::span<const Segment> into = walk.next(extent.length);
    const auto got = file_->read(extent.offset, into);
    if (!got.ok()) return got.status();
    const Bytes valid = valid_part(extent, std::min(Bytes(reply.valid_end()), extent.offset + *got));
    if (valid == extent.length) continue;
    if (valid < valid_part(extent, Bytes(reply.valid_end()))) cut_meanwhile_ = true;
    zero(into, valid.count(), extent.length.count());
    short_read = true;
  }
  return {};
}

// The answer to the latest question counts, also if it says that nothing is allowed ahead any more.
void LocalReads::allow_ahead(const wire::TransferReply& reply, Nanos asked) {
  const Nanos until = asked + Nanos(reply.granted_for());
  if (reply.granted_bytes() == 0) {
    forbid_ahead();
  } else if (!allowed_ahead() || until >= ahead_until_) {
    ahead_left_ = Bytes(reply.granted_bytes());
    ahead_end_ = Bytes(reply.granted_end());
    ahead_until_ = until;
  }
}

wire::Took LocalReads::report() { return std::exchange(unreported_, {}); }

}  // namespace tutti
