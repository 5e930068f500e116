#include "client/transfer/taking.h"

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

// The `take` of a client that has no file of the server yet.
constexpr std::uint64_t kNoFileYet = 1;

// The memory of a piece, extent by extent.
class PieceMemory {
 public:
  explicit PieceMemory(const Piece& piece) : memory_(piece.memory) {}
  // Of the next so many bytes; valid until the next call.
  std::span<const Segment> next(Bytes length) {
    parts_.clear();
    for (std::uint64_t left = length.count(); left > 0;) {
      const Segment& place = memory_[segment_];
      const std::uint64_t step = std::min(left, place.length - filled_);
      parts_.push_back(Segment{place.address + filled_, step});
      left -= step;
      filled_ += step;
      if (filled_ == place.length) {
        ++segment_;
        filled_ = 0;
      }
    }
    return parts_;
  }

 private:
  std::span<const Segment> memory_;
  std::size_t segment_ = 0;  // the one that is being filled, and how much of it is
  std::uint64_t filled_ = 0;
  std::vector<Segment> parts_;
};

}  // namespace

std::uint64_t Taking::key(const std::shared_ptr<Channel>& channel) {
  if (hopeless_ || !channel->connection().takes_files()) return 0;
  if (file_ != nullptr && channel_.lock() == channel) return key_;
  file_ = nullptr;
  granted_end_ = 0_B;
  return kNoFileYet;
}

bool Taking::reads_on(const Piece& piece) {
  return std::exchange(next_, piece.object.back().end()) == piece.object.front().offset;
}

bool Taking::take_granted(const Piece& piece, Nanos now) {
  if (granted_end_ == 0_B) return false;
  const auto channel = channel_.lock();
  if (channel == nullptr || channel->closed() || now >= granted_until_) {
    granted_end_ = 0_B;
    return false;
  }
  for (const Extent& extent : piece.object) {
    if (extent.offset < granted_begin_ || extent.end() > granted_end_) return false;
  }
  PieceMemory memory(piece);
  for (const Extent& extent : piece.object) {
    const auto got = file_->read(extent.offset, memory.next(extent.length));
    // Cut off meanwhile: the server knows more.
    if (!got.ok() || *got < extent.length) {
      granted_end_ = 0_B;
      return false;
    }
  }
  reads_on(piece);
  took_ = wire::Took(took_.bytes() + piece.length.count(), took_.reads() + 1);
  return true;
}

Status Taking::take(const Piece& piece, const wire::TransferReply& reply, Nanos asked,
                    const std::shared_ptr<Channel>& channel, bool& short_read) {
  if (file_ == nullptr || key_ != reply.taken()) {
    file_ = channel->connection().given(reply.taken());
    key_ = reply.taken();
    channel_ = channel;
    hopeless_ = file_ == nullptr;
    granted_end_ = 0_B;
    if (hopeless_) return {Code::busy, "the server's file did not come"};
  }
  // The answer to the latest question counts, also if it says that nothing is granted any more.
  const Nanos until = asked + Nanos(reply.granted_for());
  if (reply.granted_end() == 0) {
    granted_end_ = 0_B;
  } else if (granted_end_ == 0_B || until >= granted_until_) {
    granted_begin_ = piece.object.back().end();
    granted_end_ = Bytes(reply.granted_end());
    granted_until_ = until;
  }
  PieceMemory memory(piece);
  for (const Extent& extent : piece.object) {
    const std::span<const Segment> into = memory.next(extent.length);
    const auto got = file_->read(extent.offset, into);
    if (!got.ok()) return got.status();
    const std::uint64_t valid_end = std::min(reply.valid_end(), (extent.offset + *got).count());
    const std::uint64_t valid = valid_end <= extent.offset.count() ? 0 : valid_end - extent.offset.count();
    if (valid >= extent.length.count()) continue;
    zero(into, valid, extent.length.count());
    short_read = true;
  }
  return {};
}

wire::Took Taking::tell() { return std::exchange(took_, {}); }

}  // namespace tutti
