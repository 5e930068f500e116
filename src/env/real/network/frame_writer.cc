#include "env/real/network/frame_writer.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tutti {
namespace {

// Kernels refuse more at once.
constexpr std::size_t kMostParts = 1024;

std::size_t total_length(std::span<const iovec> parts) {
  std::size_t total = 0;
  for (const iovec& part : parts) total += part.iov_len;
  return total;
}

iovec part_of(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};  // sendmsg only reads
}

// Writes once; 0 if the socket is full.
Result<std::size_t> send_once(int fd, std::span<iovec> parts, int flags = 0) {
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = std::min(parts.size(), kMostParts);
  for (;;) {
    const ssize_t count = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT | flags);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return std::size_t{0};
    if (errno != EINTR)
      return Status(Code::unavailable, Status::from_errno(errno, "send to the peer").message());
  }
}

// Drops the first `count` bytes from `parts`.
std::span<iovec> advance(std::span<iovec> parts, std::size_t count) {
  while (!parts.empty() && count >= parts.front().iov_len) {
    count -= parts.front().iov_len;
    parts = parts.subspan(1);
  }
  if (count > 0) {
    parts.front().iov_base = static_cast<std::byte*>(parts.front().iov_base) + count;
    parts.front().iov_len -= count;
  }
  return parts;
}

}  // namespace

FrameWriter::FrameWriter(Loop& loop, int fd, FdWatch& watch, std::size_t queue_limit)
    : loop_(loop),
      fd_(fd),
      watch_(watch),
      queue_limit_(queue_limit),
      bulk_turn_(loop.executor(), 1),
      flushed_(loop.executor()),
      scope_(loop.executor()) {
  flushed_.set();
}

Status FrameWriter::send(std::uint16_t type, std::uint64_t id, std::span<const std::byte> payload,
                         std::uint32_t follows) {
  if (!failed_.ok()) return failed_;
  if (payload.size() > kMaxFramePayload) {
    return {Code::too_large, "send a frame of " + std::to_string(payload.size()) + " bytes"};
  }
  FrameHeader header;
  header.type = type;
  header.length = static_cast<std::uint32_t>(payload.size());
  header.follows = follows;
  header.id = id;
  std::array<iovec, 4> storage = {part_of(bytes_of(header)), part_of(payload),
                                  iovec{const_cast<std::byte*>(kZeros.data()), padding(payload.size())},
                                  iovec{}};
  FrameGuard::Tag tag;
  std::vector<std::byte> sealed;
  if (guard_) {
    FrameGuard::Frame frame = guard_->begin();
    frame.add(bytes_of(header));
    if (guard_->encrypts()) {
      sealed.resize(payload.size());
      frame.seal(payload, sealed.data());
      storage[1] = part_of(sealed);
    } else {
      frame.add(payload);
    }
    tag = frame.end();
    storage[3] = part_of(tag);
  }
  std::span<iovec> parts(storage);
  if (idle()) {
    // The peer is woken by both together.
    const Result<std::size_t> sent = send_once(fd_, parts, follows != 0 ? MSG_MORE : 0);
    if (!sent.ok()) {
      fail(sent.status());
      return failed_;
    }
    parts = advance(parts, *sent);
  }
  return parts.empty() ? Status() : enqueue(parts);
}

bool FrameWriter::send_file(std::uint16_t type, std::uint64_t id, int file) {
  if (!failed_.ok() || !idle()) return false;
  FrameHeader header;
  header.type = type;
  header.id = id;
  iovec part = part_of(bytes_of(header));
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &file, sizeof(int));
  // A local socket takes so few bytes whole or not at all.
  return ::sendmsg(fd_, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof(header));
}

Status FrameWriter::enqueue(std::span<const iovec> parts) {
  const std::size_t length = total_length(parts);
  if (length == 0) return {};
  if (queued() + length > queue_limit_) {
    overflowed_ = true;
    fail(Status(Code::unavailable, "the peer has left " + std::to_string(queued()) +
                                       " bytes unread: the connection is given up"));
    return failed_;
  }
  if (queue_start_ > 0 && queue_start_ == queue_.size()) {
    queue_.clear();
    queue_start_ = 0;
  }
  for (const iovec& part : parts) {
    const auto* bytes = static_cast<const std::byte*>(part.iov_base);
    queue_.insert(queue_.end(), bytes, bytes + part.iov_len);
  }
  start_flushing();
  return {};
}

void FrameWriter::start_flushing() {
  flushed_.reset();
  if (!flushing_ && !bulk_under_way_) {
    flushing_ = true;
    scope_.spawn(flush_when_writable());
  }
}

Status FrameWriter::flush_queue() {
  while (zeros_owed_ > 0 || queued() > 0) {
    std::array<iovec, 2> storage{};
    storage[0] = part_of(std::span(kZeros).first(std::min(zeros_owed_, kZeros.size())));
    const bool only_zeros = zeros_owed_ > kZeros.size();
    storage[1] = part_of(std::span(queue_).subspan(queue_start_, only_zeros ? 0 : queued()));
    const Result<std::size_t> sent = send_once(fd_, storage);
    if (!sent.ok()) return sent.status();
    if (*sent == 0) return {};
    const std::size_t zeros = std::min(*sent, storage[0].iov_len);
    zeros_owed_ -= zeros;
    queue_start_ += *sent - zeros;
  }
  queue_.clear();
  if (queue_.capacity() > kMaxFramePayload) queue_.shrink_to_fit();
  queue_start_ = 0;
  return {};
}

void FrameWriter::flush_once() {
  if (failed_.ok() && !bulk_under_way_) flush_queue().ignore();
}

Task<void> FrameWriter::flush_when_writable() {
  while (failed_.ok()) {
    if (Status status = flush_queue(); !status.ok()) {
      fail(std::move(status));
      break;
    }
    if (zeros_owed_ == 0 && queued() == 0) break;
    co_await watch_.writable();
  }
  flushing_ = false;
  flushed_.set();
}

// Holds the turn to write a bulk frame. Leaves the stream in order whatever happens to its holder.
struct FrameWriter::BulkTurn {
  // Header and payload have `tagged` bytes, with the padding it is `left`.
  BulkTurn(FrameWriter& writer, std::size_t tagged, std::size_t left)
      : writer(writer), untagged(tagged), left(left), length(left) {}
  BulkTurn(const BulkTurn&) = delete;
  BulkTurn& operator=(const BulkTurn&) = delete;
  ~BulkTurn() {
    writer.bulk_under_way_ = false;
    if (left < length) writer.zeros_owed_ += left;
    if (tag) send_tag();
    if (writer.failed_.ok() && !writer.idle()) writer.start_flushing();
    writer.bulk_turn_.release();
  }
  // The first `count` bytes of the parts went out.
  void sent(std::span<const iovec> parts, std::size_t count) {
    left -= count;
    if (!tag) return;
    count = std::min(count, untagged);
    untagged -= count;
    for (std::size_t i = 0; count > 0; ++i) {
      const std::size_t part = std::min(count, parts[i].iov_len);
      tag->add({static_cast<const std::byte*>(parts[i].iov_base), part});
      count -= part;
    }
  }

  FrameWriter& writer;
  std::optional<FrameGuard::Frame> tag;  // if frames have one
  std::size_t untagged;                  // bytes that are not in it yet
  std::size_t left;
  std::size_t length;

 private:
  // The tag goes out after the zeros that stand for what is left, and before all that was queued meanwhile. A frame of which
  // nothing went out leaves an empty one: its place in the order is taken.
  void send_tag() {
    std::vector<std::byte> last;
    if (left == length) {
      FrameHeader nothing;
      nothing.type = static_cast<std::uint16_t>(TransportFrame::nothing);
      const auto bytes = bytes_of(nothing);
      last.assign(bytes.begin(), bytes.end());
      tag->add(last);
      untagged = 0;
    }
    for (; untagged > 0; untagged -= std::min(untagged, kZeros.size()))
      tag->add(std::span(kZeros).first(std::min(untagged, kZeros.size())));
    const FrameGuard::Tag end = tag->end();
    last.insert(last.end(), end.begin(), end.end());
    const auto front = writer.queue_.begin() + static_cast<std::ptrdiff_t>(writer.queue_start_);
    writer.queue_.insert(front, last.begin(), last.end());
    if (!writer.failed_.ok()) return;
    if (Status status = writer.flush_queue(); !status.ok()) writer.fail(std::move(status));
  }
};

Task<Status> FrameWriter::send_bulk(std::uint16_t type, std::uint64_t id, std::vector<std::byte> prefix,
                                    std::vector<iovec> memory, std::vector<std::byte> suffix, bool more) {
  FrameHeader header;
  const std::size_t length = prefix.size() + total_length(memory) + suffix.size();
  header.type = type;
  header.length = static_cast<std::uint32_t>(length);
  header.id = id;
  memory.insert(memory.begin(), {part_of(bytes_of(header)), part_of(prefix)});
  memory.push_back(part_of(suffix));
  memory.push_back(part_of(std::span(kZeros).first(padding(length))));

  co_await bulk_turn_.acquire();
  if (guard_ && guard_->encrypts()) co_return co_await send_encrypted(memory, sizeof(header) + length);
  BulkTurn turn(*this, sizeof(header) + length, sizeof(header) + padded(length));
  while (failed_.ok() && !idle()) co_await flushed_.wait();
  if (guard_) turn.tag = guard_->begin();
  std::span<iovec> parts(memory);
  while (failed_.ok()) {
    const Result<std::size_t> sent = send_once(fd_, parts, more ? MSG_MORE : 0);
    if (!sent.ok()) {
      fail(sent.status());
      break;
    }
    turn.sent(parts, *sent);
    bulk_bytes_ += *sent;
    parts = advance(parts, *sent);
    if (turn.left == 0) co_return Status();
    bulk_under_way_ = true;
    co_await watch_.writable();
  }
  co_return failed_;
}

// Holds the turn for a frame that is the writer's own: what is left of it goes out with the queue.
class FrameWriter::SealedTurn {
 public:
  explicit SealedTurn(FrameWriter& writer) : writer_(writer) {}
  SealedTurn(const SealedTurn&) = delete;
  SealedTurn& operator=(const SealedTurn&) = delete;
  ~SealedTurn() {
    writer_.bulk_under_way_ = false;
    const auto front = writer_.queue_.begin() + static_cast<std::ptrdiff_t>(writer_.queue_start_);
    writer_.queue_.insert(front, left.begin(), left.end());
    if (writer_.failed_.ok() && !writer_.idle()) writer_.start_flushing();
    writer_.bulk_turn_.release();
  }
  std::vector<std::byte> bytes;
  std::span<const std::byte> left;  // of them

 private:
  FrameWriter& writer_;
};

// The parts are header, payload of all in all `length` bytes, and padding.
Task<Status> FrameWriter::send_encrypted(std::span<const iovec> parts, std::size_t length) {
  SealedTurn turn(*this);
  while (failed_.ok() && !idle()) co_await flushed_.wait();
  turn.bytes.resize(padded(length) + sizeof(FrameGuard::Tag));  // a header is a multiple of 8
  FrameGuard::Frame frame = guard_->begin();
  std::size_t at = 0;
  for (const iovec& part : parts.first(parts.size() - 1)) {
    const std::span bytes(static_cast<const std::byte*>(part.iov_base), part.iov_len);
    if (at == 0) {
      std::copy(bytes.begin(), bytes.end(), turn.bytes.begin());
      frame.add(bytes);
    } else {
      frame.seal(bytes, turn.bytes.data() + at);
    }
    at += bytes.size();
  }
  const FrameGuard::Tag tag = frame.end();
  std::copy(tag.begin(), tag.end(), turn.bytes.end() - sizeof(tag));
  turn.left = turn.bytes;
  while (failed_.ok()) {
    iovec part = part_of(turn.left);
    const Result<std::size_t> sent = send_once(fd_, {&part, 1});
    if (!sent.ok()) {
      fail(sent.status());
      break;
    }
    bulk_bytes_ += *sent;
    turn.left = turn.left.subspan(*sent);
    if (turn.left.empty()) co_return Status();
    bulk_under_way_ = true;
    co_await watch_.writable();
  }
  co_return failed_;
}

void FrameWriter::fail(Status status) {
  if (failed_.ok()) failed_ = std::move(status);
  flushed_.set();
}

}  // namespace tutti
