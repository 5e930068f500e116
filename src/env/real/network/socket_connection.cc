#include "env/real/network/socket_connection.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "env/real/network/shared_descriptor.h"

namespace tutti {
namespace {

constexpr std::size_t kHandshakeLimit = 1024;
// A peer that always has something more to read must let others have their turn.
constexpr int kMostBurst = 64;
// Files that came and were not claimed.
constexpr std::size_t kMostGiven = 64;

// Before the peer is known, nothing of its is moved.
class NoBulk final : public BulkSink {
 public:
  [[nodiscard]] std::optional<std::size_t> bulk_prefix(std::uint16_t) const override { return std::nullopt; }
  Status begin_bulk(const FrameHeader&, std::span<const std::byte>) override { return {}; }
  std::size_t bulk_places(std::size_t, std::size_t, std::span<iovec>) override { return 0; }
  void end_bulk() override {}
  [[nodiscard]] bool expects_bulk() const override { return false; }
};

Status unavailable(const Status& reason) { return {Code::unavailable, reason.message()}; }
Task<Status> refuse(Status why) { co_return why; }

}  // namespace

Result<std::unique_ptr<SocketConnection>> SocketConnection::make(Loop& loop, int fd,
                                                                 std::size_t queue_limit) {
  std::unique_ptr<SocketConnection> connection(new SocketConnection(loop, fd, queue_limit));
  TUTTI_TRY(connection->watch_.add(loop, fd));
  return connection;
}

SocketConnection::SocketConnection(Loop& loop, int fd, std::size_t queue_limit)
    : loop_(loop),
      fd_(fd),
      reader_(fd, kHandshakeLimit),
      writer_(loop, fd, watch_, queue_limit),
      socket_mover_(loop, writer_),
      scope_(loop.executor()) {
  peer_.name = "the peer";
}

SocketConnection::~SocketConnection() {
  scope_.cancel();
  close();
}

Status SocketConnection::send(std::uint16_t type, std::uint64_t id, std::span<const std::byte> payload) {
  if (closed_) return unavailable(reason_);
  const std::uint32_t follows = cma_ ? 0 : socket_mover_.take_announced();
  Status status = writer_.send(type, id, payload, follows);
  if (status.ok() && follows != 0) socket_mover_.send_early(follows);
  if (writer_.overflowed()) lose(status);
  return status;
}

Task<Result<Frame>> SocketConnection::receive() {
  for (;;) {
    Result<Frame> frame = co_await receive_any();
    if (frame.ok() && frame->type >= kFirstUserFrameType) socket_mover_.request_came(reader_.follows());
    if (!frame.ok() || frame->type >= kFirstUserFrameType) co_return frame;
    if (Status status = on_frame(*frame); !status.ok()) {
      lose(std::move(status));
      co_return reason_;
    }
  }
}

Status SocketConnection::on_frame(const Frame& frame) {
  if (frame.type == static_cast<std::uint16_t>(TransportFrame::nothing)) return {};
  if (frame.type != static_cast<std::uint16_t>(TransportFrame::file)) return socket_mover_.on_frame(frame);
  if (!takes_files_) return {Code::malformed, "a file that nobody takes"};
  // A process that has too many descriptors open gets the frame without one.
  if (FileDescriptor file = reader_.next_file(); file.valid()) {
    if (given_.size() >= kMostGiven) given_.erase(given_.begin());
    given_[frame.id] = std::make_shared<SharedDescriptor>(std::move(file));
  }
  return {};
}

bool SocketConnection::give(std::uint64_t key, const SharedFile& file) {
  if (closed_ || !gives_files_) return false;
  return writer_.send_file(static_cast<std::uint16_t>(TransportFrame::file), key, file.descriptor());
}

std::shared_ptr<const SharedFile> SocketConnection::given(std::uint64_t key) {
  const auto found = given_.find(key);
  if (found == given_.end()) return nullptr;
  auto file = std::move(found->second);
  given_.erase(found);
  return file;
}

Task<Result<Frame>> SocketConnection::receive_any() {
  for (;;) {
    if (++burst_ > kMostBurst) {
      burst_ = 0;
      co_await loop_.next_turn();
    }
    if (socket_mover_.early_is_next()) co_await loop_.next_turn();
    if (closed_) co_return reason_;
    NoBulk no_bulk;
    BulkSink& sink = established_ ? static_cast<BulkSink&>(socket_mover_) : no_bulk;
    Result<std::optional<Frame>> next = reader_.next(sink);
    if (!next.ok()) {
      lose(next.status());
      co_return reason_;
    }
    if (next->has_value()) co_return **next;
    if (!watch_.maybe_readable()) {
      burst_ = 0;
      co_await watch_.readable();
      if (closed_) continue;
    }
    const Result<FrameReader::Filled> filled =
        reader_.fill(established_ ? static_cast<BulkSink&>(socket_mover_) : no_bulk);
    if (!filled.ok()) {
      lose(filled.status());
    } else if (filled->end) {
      lose(Status(Code::unavailable, peer_.name + " has closed the connection"));
    } else if (filled->drained) {
      watch_.drained();
    }
  }
}

// The peer closes its end when it has seen ours closed, and moves nothing after that.
void SocketConnection::release() {
  if (!closed_ && cma_ != nullptr && ::shutdown(fd_, SHUT_WR) == 0) {
    pollfd end{fd_, 0, 0};  // POLLHUP: the other end is closed too
    const Nanos deadline = loop_.clock().now() + kReleaseTime;
    for (Nanos now = loop_.clock().now(); now < deadline; now = loop_.clock().now()) {
      const auto milliseconds = static_cast<int>((deadline - now).count() / 1'000'000 + 1);
      if (::poll(&end, 1, milliseconds) >= 0 || errno != EINTR) break;
    }
  }
  close();
}

bool SocketConnection::closed_unseen() {
  if (cma_ == nullptr || loop_.clock().now() - loop_.looked() < kReleaseTime / 2) return false;
  if (!peer_gone()) return false;
  lose(Status(Code::unavailable, peer_.name + " has closed the connection"));
  return true;
}

bool SocketConnection::peer_gone() {
  if (closed_) return true;
  pollfd end{fd_, POLLRDHUP, 0};
  return ::poll(&end, 1, 0) > 0;
}

void SocketConnection::close() { lose(Status(Code::unavailable, "the connection is closed")); }

void SocketConnection::lose(Status reason) {
  if (closed_) return;
  closed_ = true;
  reason_ = std::move(reason);
  writer_.flush_once();
  writer_.fail(unavailable(reason_));
  socket_mover_.fail(unavailable(reason_));
  watch_.remove();
  pid_watch_.remove();
  ::shutdown(fd_, SHUT_RDWR);  // a forked child may hold a copy of the descriptor
  ::close(fd_);
  if (pidfd_ >= 0) ::close(pidfd_);
}

std::uint64_t SocketConnection::expose(std::span<const Segment> segments, Access access) {
  // Cross-memory attach needs the addresses alone; nothing of the region will ever come on the socket.
  return cma_ ? 0 : socket_mover_.expose(segments, access);
}

void SocketConnection::withdraw(std::uint64_t region) {
  if (!cma_) socket_mover_.withdraw(region);
}

// No task of their own while the connection is open: bulk data has one in the mover.
Task<Status> SocketConnection::pull(const Region& from, Bytes offset, Places into) {
  return closed_ || closed_unseen() ? refuse(unavailable(reason_)) : mover().pull(from, offset, into);
}

Task<Status> SocketConnection::push(ConstPlaces from, const Region& to, Bytes offset) {
  return closed_ || closed_unseen() ? refuse(unavailable(reason_)) : mover().push(from, to, offset);
}

// What has come and is not read yet counts: on a slow link the reader sleeps until much of a frame is there.
std::uint64_t SocketConnection::moved() const {
  int unread = 0;
  if (closed_ || ::ioctl(fd_, FIONREAD, &unread) != 0) unread = 0;
  return reader_.bulk_bytes() + writer_.bulk_bytes() + static_cast<std::uint64_t>(unread);
}

void SocketConnection::established(Peer peer, bool by_cross_memory_attach) {
  peer_ = std::move(peer);
  if (by_cross_memory_attach) cma_ = std::make_unique<CmaMover>(peer_);
  established_ = true;
  reader_.set_limit(kMaxFramePayload);
}

void SocketConnection::close_with_process(int pidfd) {
  pidfd_ = pidfd;
  if (pid_watch_.add(loop_, pidfd).ok()) scope_.spawn(watch_process());
}

Task<void> SocketConnection::watch_process() {
  co_await pid_watch_.readable();
  lose(Status(Code::unavailable, peer_.name + " has ended"));
}

}  // namespace tutti
