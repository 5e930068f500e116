#include "client/transfer/local_write.h"

#include <utility>

namespace tutti {
namespace {

// The key that a client names while it has no file of the server.
constexpr std::uint64_t kNoFileYet = 1;

}  // namespace

std::uint64_t LocalWrites::key(const std::shared_ptr<Channel>& channel) {
  if (hopeless_ || !channel->connection().takes_files()) return 0;
  if (file_ != nullptr && channel_.lock() == channel) return key_;
  file_ = nullptr;
  forbid();
  return kNoFileYet;
}

bool LocalWrites::expects_more(const Piece& piece, Bytes small) {
  return std::exchange(written_before_, true) || piece.length > small;
}

void LocalWrites::accept(const wire::TransferReply& reply, const std::shared_ptr<Channel>& channel,
                         std::shared_ptr<const SharedFile> marks, Nanos asked) {
  forbid();
  if (reply.taken() == 0 || reply.granted_bytes() == 0) return;
  if (file_ == nullptr || key_ != reply.taken() || channel_.lock() != channel) {
    auto given = channel->connection().given(reply.taken());
    file_ = given == nullptr ? nullptr : std::make_shared<SharedMap>(std::move(given));
    key_ = reply.taken();
    channel_ = channel;
  }
  marks_ = std::move(marks);
  hopeless_ = file_ == nullptr || marks_ == nullptr || reply.mark() >= marks_->words().size();
  if (hopeless_) return;
  left_ = Bytes(reply.granted_bytes());
  until_ = asked + Nanos(reply.granted_for());
  mark_ = reply.mark();
  mark_value_ = reply.mark_value();
  era_ = reply.boot();
}

bool LocalWrites::unchanged() const {
  return __atomic_load_n(&marks_->words()[mark_], __ATOMIC_SEQ_CST) == mark_value_;
}

bool LocalWrites::allowed(Bytes bytes, Nanos now) const {
  if (bytes > left_ || now >= until_) return false;
  const auto channel = channel_.lock();
  return channel != nullptr && !channel->closed() && unchanged();
}

// The word first: a server that has ended changes it no more.
bool LocalWrites::settled(Bytes bytes) {
  const auto channel = channel_.lock();
  if (!unchanged() || channel == nullptr || channel->connection().peer_gone()) {
    forbid();
    return false;
  }
  left_ -= bytes;
  written_ += bytes;
  ++writes_;
  return true;
}

wire::Took LocalWrites::report() {
  const Bytes written = std::exchange(written_, 0_B);
  return {0, 0, written.count(), std::exchange(writes_, 0)};
}

}  // namespace tutti
