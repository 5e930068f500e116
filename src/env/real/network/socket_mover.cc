#include "env/real/network/socket_mover.h"

#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace tutti {
namespace {

// A peer that asks for more pieces at once than this is not one of ours.
constexpr std::size_t kMostAnswers = 4096;
// So much fits into a client's card whoever else sends.
constexpr std::uint64_t kLeastGranted = 64U << 10U;
// Pieces of one transfer that are under way at the same time.
constexpr std::size_t kPiecesAtOnce = 4;
// The kernel is asked for losses after so many frames of a connection.
constexpr std::uint64_t kFramesPerLook = 4;
// Shorter ones are pulled while they wait in the queue, with others.
constexpr std::uint64_t kLeastEarly = 32U << 10U;

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
    if (exposed.counted) grants_->grants().done(*this);
  }
}

void SocketMover::grant_reads(GrantsWatch& grants, int fd) {
  grants_ = &grants;
  fd_ = fd;
}

void SocketMover::hold() {
  send_word(TransportFrame::hold);
  grants_->wake();
}
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
  if (exposed.counted)
    grants_->grants().ask(*this);  // what it says comes before the request that names the region
  const bool early = sends_early_ && access == Access::read && exposed.length >= kLeastEarly &&
                     exposed.length <= kBulkChunk && region <= std::numeric_limits<std::uint32_t>::max();
  if (early) announced_ = static_cast<std::uint32_t>(region);
  exposed_.emplace(region, std::move(exposed));
  return region;
}

void SocketMover::withdraw(std::uint64_t region) {
  const auto found = exposed_.find(region);
  if (found == exposed_.end()) return;
  if (found->second.access == Access::write) --writable_regions_;
  const Exposed gone = std::move(found->second);
  exposed_.erase(found);
  if (announced_ == region) announced_ = 0;
  if (gone.counted) grants_->grants().done(*this);
  for (auto each = answers_.begin(); each != answers_.end();) {
    if (each->region != region || each->done) {
      ++each;
      continue;
    }
    // If it has begun, the rest of its frame becomes zeros, which say that the data is not good; of an encrypted one the
    // rest of the copy goes out.
    const std::uint64_t token = each->token;
    each = answers_.erase(each);
    if (token != 0) {
      send_code(TransportFrame::pull_failed, token, Code::not_found).ignore();
    } else {
      writer_.send(static_cast<std::uint16_t>(TransportFrame::early_gone), region, {}).ignore();
    }
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

void SocketMover::request_came(std::uint32_t follows) {
  request_at_ = loop_.looked();
  if (follows == 0) return;
  if (const std::uint64_t oldest = early_.one_too_many(); oldest != 0) forget_early(oldest);
  early_.announced(follows);
  early_is_next_ = true;
}

void SocketMover::send_early(std::uint32_t region) {
  const auto found = exposed_.find(region);
  if (found == exposed_.end()) return;
  answers_.remove_if([](const Answer& each) { return each.done && each.scope.size() == 0; });
  Answer& added = answers_.emplace_back(loop_.executor(), region, 0);
  added.scope.start(answer(added, PullRequest{region, 0, found->second.length}));
}

void SocketMover::forget_early(std::uint64_t region) {
  const EarlyBytes::Entry* entry = early_.find(region);
  if (entry == nullptr) return;
  const auto wanting = waiting_.find(entry->wanted_by);
  early_.erase(region);
  if (wanting != waiting_.end()) wanting->second->finish(Status(Code::not_found, "they do not come"));
}

Task<Status> SocketMover::take_early(std::uint64_t region, std::uint64_t offset, Places into) {
  const std::uint64_t length = length_of(into);
  if (const EarlyBytes::Entry* entry = early_.find(region); entry != nullptr && !entry->here) {
    std::vector<Segment> places;
    for (const std::span<std::byte> place : into)
      places.push_back({reinterpret_cast<std::uint64_t>(place.data()), place.size()});
    Piece piece(*this, std::move(places), length);
    // Only all of it can go straight there.
    early_.find(region)->wanted_by = piece.token;
    co_await piece.done.wait();
    if (piece.status.ok() || piece.status.code() == Code::unavailable) co_return piece.status;
  }
  const EarlyBytes::Entry* entry = early_.find(region);
  const Status absent(Code::not_found, "they are not here");
  if (entry == nullptr || !entry->here) co_return absent;
  const std::size_t held = entry->bytes.size() - sizeof(std::uint64_t);
  const bool good = load<std::uint64_t>(std::span(entry->bytes).subspan(held)) == 1;
  if (!good || offset > held || length > held - offset) {
    early_.erase(region);
    co_return absent;
  }
  const std::byte* from = entry->bytes.data() + offset;
  for (const std::span<std::byte> place : into) {
    std::copy_n(from, place.size(), place.data());
    from += place.size();
  }
  if (offset + length == held) early_.erase(region);
  co_return Status();
}

Task<Status> SocketMover::pull(const Region& from, Bytes offset, Places into) {
  if (may_allow_early_) {
    switch (early_pace_.pulled(request_at_ == loop_.looked())) {
      case EarlyPace::Word::allow:
        send_word(TransportFrame::early_on);
        break;
      case EarlyPace::Word::forbid:
        send_word(TransportFrame::early_off);
        break;
      case EarlyPace::Word::none:
        break;
    }
    if (early_.find(from.id) != nullptr) {
      Status early = co_await take_early(from.id, offset.count(), into);
      if (early.code() != Code::not_found) co_return early;
    }
  }
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
// still there: nothing is waited for. The reply follows, or more bytes do.
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
                                            std::vector<std::byte>(), true));
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
  if (type == TransportFrame::early_gone && frame.payload.empty()) {
    forget_early(frame.id);
    return {};
  }
  if ((type == TransportFrame::early_on || type == TransportFrame::early_off) && frame.payload.empty()) {
    sends_early_ = type == TransportFrame::early_on;
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
  const bool asked = self.token != 0;
  const TransportFrame type = asked ? TransportFrame::pull_data : TransportFrame::early;
  const Status status =
      co_await writer_.send_bulk(static_cast<std::uint16_t>(type), asked ? self.token : self.region,
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
  if (type == static_cast<std::uint16_t>(TransportFrame::early)) return std::size_t{0};
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
  if (header.type == static_cast<std::uint16_t>(TransportFrame::early)) {
    if (incoming_.length < sizeof(std::uint64_t) || incoming_.length > kBulkChunk + sizeof(std::uint64_t))
      return {Code::malformed, "the peer sends early bytes of a wrong length"};
    begin_early(header);
    return {};
  }
  const auto found = waiting_.find(incoming_.token);
  if (found != waiting_.end() && incoming_.length != found->second->length + sizeof(std::uint64_t)) {
    return {Code::malformed, "the peer answers a pull with another length"};
  }
  return {};
}

// Straight to whoever wants all of them; then they are as those of a pull. Otherwise they are held, or dropped.
void SocketMover::begin_early(const FrameHeader& header) {
  incoming_.token = 0;
  const EarlyBytes::Entry* entry = early_.find(header.id);
  if (entry == nullptr || entry->here || !entry->bytes.empty()) return;
  const auto wanting = waiting_.find(entry->wanted_by);
  if (wanting != waiting_.end() && incoming_.length == wanting->second->length + sizeof(std::uint64_t)) {
    incoming_.token = entry->wanted_by;
    early_.erase(header.id);
  } else if (early_.hold(header.id, incoming_.length) != nullptr) {
    incoming_.held_region = header.id;
  } else if (wanting != waiting_.end()) {
    wanting->second->finish(Status(Code::not_found, "there is no room for them"));
  }
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
  if (incoming_.held_region != 0) {
    EarlyBytes::Entry* entry = early_.find(incoming_.held_region);
    if (entry == nullptr || entry->bytes.size() != incoming_.length) return 0;
    places[0] = {entry->bytes.data() + at, length};
    return 1;
  }
  const auto found = waiting_.find(incoming_.token);
  if (found == waiting_.end()) return 0;
  return slice_segments(found->second->places, at, length, places);
}

void SocketMover::end_bulk() {
  // Asking the kernel costs as much as a small message: not for each frame.
  if (incoming_.is_push && grants_ != nullptr)
    grants_->grants().came(++frames_ % kFramesPerLook == 0 ? losses() : 0);
  if (incoming_.is_push) return;
  if (incoming_.held_region != 0) {
    EarlyBytes::Entry* entry = early_.find(incoming_.held_region);
    if (entry == nullptr || entry->bytes.size() != incoming_.length) return;
    entry->here = true;
    const auto wanting = waiting_.find(entry->wanted_by);
    if (wanting != waiting_.end()) wanting->second->finish(Status(Code::not_found, "held for it"));
    return;
  }
  const auto found = waiting_.find(incoming_.token);
  if (found == waiting_.end()) return;
  Piece& piece = *found->second;
  piece.finish(piece.good == 1 ? Status() : Status(Code::not_found, "withdrawn"));
}

}  // namespace tutti
