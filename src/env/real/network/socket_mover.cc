#include "env/real/network/socket_mover.h"

#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tutti {
namespace {

// A peer that asks for more pieces at once than this is not one of ours.
constexpr std::size_t kMostAnswers = 4096;
// So much fits into a client's card whoever else sends.
constexpr std::uint64_t kLeastGranted = 64U << 10U;
// Pieces of one transfer that are under way at the same time.
constexpr std::size_t kPiecesAtOnce = 4;

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

Status refused(const char* what, std::uint64_t region, Code code) {
  return {code, fmt::format("{} region {}: refused by the peer ({})", what, region, code_name(code))};
}

}  // namespace

std::size_t slice_segments(std::span<const Segment> segments, std::uint64_t offset, std::uint64_t length,
                           std::span<iovec> parts) {
  std::size_t count = 0;
  for (const Segment& segment : segments) {
    if (length == 0 || count == parts.size()) break;
    if (offset >= segment.length) {
      offset -= segment.length;
      continue;
    }
    const std::uint64_t take = std::min(length, segment.length - offset);
    parts[count++] = {reinterpret_cast<void*>(segment.address + offset), take};
    length -= take;
    offset = 0;
  }
  return count;
}

struct SocketMover::Piece {
  Piece(SocketMover& mover, std::vector<Segment> places, std::size_t length)
      : mover(mover),
        places(std::move(places)),
        length(length),
        token(mover.next_token_++),
        done(mover.loop_.executor()) {
    this->places.push_back({reinterpret_cast<std::uint64_t>(&good), sizeof(good)});
    mover.waiting_.emplace(token, this);
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;
  ~Piece() { mover.waiting_.erase(token); }
  void finish(Status result) {
    status = std::move(result);
    done.set();
  }

  SocketMover& mover;
  std::vector<Segment> places;  // of the data, and of the word after it
  std::size_t length;           // of the data
  std::uint64_t good = 0;       // the word after the data
  std::uint64_t token;
  Status status;
  Event done;
};

SocketMover::~SocketMover() {
  if (grants_ == nullptr) return;
  for (const auto& [region, exposed] : exposed_) {
    if (exposed.counted) grants_->done(*this);
  }
}

void SocketMover::grant_reads(ReadGrants& grants, int fd) {
  grants_ = &grants;
  fd_ = fd;
}

void SocketMover::hold() { send_word(TransportFrame::hold); }
void SocketMover::grant() { send_word(TransportFrame::grant); }
void SocketMover::send_word(TransportFrame type) {
  if (failed_.ok()) writer_.send(static_cast<std::uint16_t>(type), 0, {}).ignore();
}

std::uint64_t SocketMover::losses() {
  tcp_info info{};
  socklen_t length = sizeof(info);
  constexpr socklen_t kNeeded = offsetof(tcp_info, tcpi_rcv_ooopack) + sizeof(info.tcpi_rcv_ooopack);
  if (!failed_.ok() || ::getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || length < kNeeded)
    return 0;
  return info.tcpi_rcv_ooopack - std::exchange(losses_seen_, info.tcpi_rcv_ooopack);
}

std::uint64_t SocketMover::expose(std::span<const Segment> segments, Access access) {
  Exposed exposed;
  exposed.segments.assign(segments.begin(), segments.end());
  exposed.access = access;
  for (const Segment& segment : segments) exposed.length += segment.length;
  if (access == Access::write) ++writable_regions_;
  const std::uint64_t region = next_region_++;
  exposed.counted = grants_ != nullptr && access == Access::write && exposed.length >= kLeastGranted;
  if (exposed.counted) grants_->ask(*this);  // what it says comes before the request that names the region
  exposed_.emplace(region, std::move(exposed));
  return region;
}

void SocketMover::withdraw(std::uint64_t region) {
  const auto found = exposed_.find(region);
  if (found == exposed_.end()) return;
  if (found->second.access == Access::write) --writable_regions_;
  const Exposed gone = std::move(found->second);
  exposed_.erase(found);
  if (gone.counted) grants_->done(*this);
  for (auto each = answers_.begin(); each != answers_.end();) {
    if (each->region != region || each->done) {
      ++each;
      continue;
    }
    // If it has begun, the rest of its frame becomes zeros, which say that the data is not good; of an encrypted one the
    // rest of the copy goes out.
    const std::uint64_t token = each->token;
    each = answers_.erase(each);
    send_code(TransportFrame::pull_failed, token, Code::not_found).ignore();
  }
}

Code SocketMover::check(std::uint64_t region, std::uint64_t offset, std::uint64_t length,
                        Access access) const {
  const auto found = exposed_.find(region);
  if (found == exposed_.end()) return Code::not_found;
  if (found->second.access != access) return Code::permission;
  if (offset > found->second.length || length > found->second.length - offset) return Code::invalid;
  return Code::ok;
}

Status SocketMover::send_code(TransportFrame type, std::uint64_t token, Code code) {
  const auto value = static_cast<std::uint16_t>(code);
  return writer_.send(static_cast<std::uint16_t>(type), token, bytes_of(value));
}

Task<Status> SocketMover::pull(const Region& from, Bytes offset, Places into) {
  std::list<Piece> pieces;
  PlaceWalk<std::byte> walk(into);
  const std::uint64_t region = from.id;
  while (!walk.done() || !pieces.empty()) {
    if (!failed_.ok()) co_return failed_;
    if (!walk.done() && pieces.size() < kPiecesAtOnce) {
      const std::uint64_t begin = offset.count() + walk.at();
      std::vector<Segment> places;
      std::size_t length = 0;
      while (!walk.done() && length < kBulkChunk) {
        const std::span<std::byte> place = walk.next(kBulkChunk - length);
        places.push_back({reinterpret_cast<std::uint64_t>(place.data()), place.size()});
        length += place.size();
      }
      Piece& piece = pieces.emplace_back(*this, std::move(places), length);
      const PullRequest request{region, begin, length};
      TUTTI_CO_TRY(
          writer_.send(static_cast<std::uint16_t>(TransportFrame::pull), piece.token, bytes_of(request)));
      continue;
    }
    co_await pieces.front().done.wait();
    if (!pieces.front().status.ok()) {
      co_return pieces.front().status.code() == Code::unavailable
          ? pieces.front().status
          : refused("pull from", region, pieces.front().status.code());
    }
    pieces.pop_front();
  }
  co_return Status();
}

// What the kernel has taken arrives before any later frame, and only the other end can tell whether the region is
// still there: nothing is waited for.
Task<Status> SocketMover::push(ConstPlaces from, const Region& to, Bytes offset) {
  PlaceWalk<const std::byte> walk(from);
  while (!walk.done()) {
    if (held_ != nullptr) {
      const std::shared_ptr<Event> granted = held_;
      co_await granted->wait();
      if (!failed_.ok()) co_return failed_;
      continue;
    }
    const PushTarget target{to.id, offset.count() + walk.at()};
    std::vector<iovec> memory;
    std::size_t length = 0;
    while (!walk.done() && length < kBulkChunk) {
      const std::span<const std::byte> place = walk.next(kBulkChunk - length);
      memory.push_back({const_cast<std::byte*>(place.data()), place.size()});
      length += place.size();
    }
    TUTTI_CO_TRY(co_await writer_.send_bulk(static_cast<std::uint16_t>(TransportFrame::push_data), 0,
                                            copy_of(bytes_of(target)), std::move(memory),
                                            std::vector<std::byte>()));
  }
  co_return Status();
}

Status SocketMover::on_frame(const Frame& frame) {
  const auto type = static_cast<TransportFrame>(frame.type);
  if (type == TransportFrame::pull && frame.payload.size() == sizeof(PullRequest)) {
    return start_answer(frame.id, load<PullRequest>(frame.payload));
  }
  if (type == TransportFrame::pull_failed && frame.payload.size() == sizeof(std::uint16_t)) {
    const Code code = code_from_wire(load<std::uint16_t>(frame.payload));
    const auto found = waiting_.find(frame.id);
    if (found == waiting_.end()) return {};  // its operation was cancelled
    found->second->finish(code == Code::ok ? Status() : Status(code, "refused"));
    return {};
  }
  if (type == TransportFrame::hold && frame.payload.empty()) {
    if (held_ == nullptr) held_ = std::make_shared<Event>(loop_.executor());
    return {};
  }
  if (type == TransportFrame::grant && frame.payload.empty()) {
    if (const auto granted = std::exchange(held_, nullptr)) granted->set();
    return {};
  }
  return {Code::malformed, fmt::format("unexpected transport frame of type {}", frame.type)};
}

Status SocketMover::start_answer(std::uint64_t token, const PullRequest& request) {
  Code code = check(request.region, request.offset, request.length, Access::read);
  if (request.length > kBulkChunk) code = Code::too_large;
  if (code != Code::ok) return send_code(TransportFrame::pull_failed, token, code);
  answers_.remove_if([](const Answer& each) { return each.done && each.scope.size() == 0; });
  if (answers_.size() >= kMostAnswers) return {Code::malformed, "the peer asks for too many pieces at once"};
  Answer& added = answers_.emplace_back(loop_.executor(), request.region, token);
  added.scope.spawn(answer(added, request));
  return {};
}

Task<void> SocketMover::answer(Answer& self, PullRequest request) {
  const std::vector<Segment>& segments = exposed_.at(request.region).segments;
  std::vector<iovec> memory(std::min<std::uint64_t>(segments.size(), request.length));
  memory.resize(slice_segments(segments, request.offset, request.length, memory));
  const std::uint64_t good = 1;
  const Status status =
      co_await writer_.send_bulk(static_cast<std::uint16_t>(TransportFrame::pull_data), self.token,
                                 std::vector<std::byte>(), std::move(memory), copy_of(bytes_of(good)));
  status.ignore();  // a lost connection is noticed by its receiver
  self.done = true;
}

void SocketMover::fail(const Status& status) {
  failed_ = status;
  answers_.clear();
  if (const auto granted = std::exchange(held_, nullptr)) granted->set();
  for (auto& [token, piece] : waiting_) piece->finish(status);
}

std::optional<std::size_t> SocketMover::bulk_prefix(std::uint16_t type) const {
  if (type == static_cast<std::uint16_t>(TransportFrame::push_data)) return sizeof(PushTarget);
  if (type == static_cast<std::uint16_t>(TransportFrame::pull_data)) return std::size_t{0};
  return std::nullopt;
}

Status SocketMover::begin_bulk(const FrameHeader& header, std::span<const std::byte> prefix) {
  incoming_ = Incoming();
  incoming_.is_push = header.type == static_cast<std::uint16_t>(TransportFrame::push_data);
  incoming_.token = header.id;
  incoming_.length = header.length - prefix.size();
  if (incoming_.is_push) {
    incoming_.target = load<PushTarget>(prefix);
    incoming_.code = check(incoming_.target.region, incoming_.target.offset, incoming_.length, Access::write);
    if (incoming_.code == Code::ok || incoming_.code == Code::not_found) return {};
    return {Code::malformed, "the peer sends bytes that do not fit their region"};
  }
  const auto found = waiting_.find(incoming_.token);
  if (found != waiting_.end() && incoming_.length != found->second->length + sizeof(std::uint64_t)) {
    return {Code::malformed, "the peer answers a pull with another length"};
  }
  return {};
}

std::size_t SocketMover::bulk_places(std::size_t at, std::size_t length, std::span<iovec> places) {
  if (incoming_.is_push) {
    if (incoming_.code != Code::ok) return 0;
    const auto found = exposed_.find(incoming_.target.region);
    if (found == exposed_.end()) {
      incoming_.code = Code::not_found;
      return 0;
    }
    return slice_segments(found->second.segments, incoming_.target.offset + at, length, places);
  }
  const auto found = waiting_.find(incoming_.token);
  if (found == waiting_.end()) return 0;
  return slice_segments(found->second->places, at, length, places);
}

void SocketMover::end_bulk() {
  if (incoming_.is_push && grants_ != nullptr) grants_->came(losses());
  if (incoming_.is_push) return;
  const auto found = waiting_.find(incoming_.token);
  if (found == waiting_.end()) return;
  Piece& piece = *found->second;
  piece.finish(piece.good == 1 ? Status() : Status(Code::not_found, "withdrawn"));
}

}  // namespace tutti
