#include "client/transfer/send.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/transfer/gather.h"
#include "env/combine.h"

namespace tutti {

std::uint16_t PieceRequest::type() const {
  return wire::request_type(sending_.write ? wire::Type::write : wire::Type::read);
}

namespace {

// So few extents are named as they are.
constexpr std::size_t kFewExtents = 2;
// A job that has lost its turn waits so long for another one. The gate is about speed: then it writes all the same.
constexpr Nanos kLongestHeldBack = 10_s;

// Where the memory of a piece begins and ends. It ascends: it is part of one buffer.
Segment span_of(std::span<const Segment> memory) {
  const std::uint64_t begin = memory.front().address;
  return {begin, memory.back().address + memory.back().length - begin};
}

}  // namespace

bool PieceRequest::may_name_view() const {
  const ViewUse& use = sending_.view;
  return use.view != nullptr && piece_.object.size() > kFewExtents &&
         use.view->usable(piece_.slot, sending_.write);
}

// Pieces of one server are sent in their order, so that its last one tells that all are there.
wire::DirectedCall PieceRequest::directed_call() const {
  const DirectedCall* call = sending_.view.call;
  if (call == nullptr || piece_.slot >= call->members.size()) return {};
  return {call->id, call->members[piece_.slot], sending_.view.last_of_call && last_};
}

std::optional<Answer> PieceRequest::without_view(const Status& status) {
  DeclaredView& view = *sending_.view.view;
  switch (status.code()) {
    case Code::not_found:
      view.forgotten(piece_.slot);
      break;
    case Code::unsupported:
    case Code::too_large:
    case Code::invalid:
      view.refused(piece_.slot);
      break;
    default:
      return std::nullopt;
  }
  return Answer{Status(), Next::repeat_at_once};
}

Result<std::span<const std::byte>> PieceRequest::message(flatbuffers::FlatBufferBuilder& builder,
                                                         const std::shared_ptr<Channel>& channel) {
  static_assert(sizeof(Segment) == sizeof(wire::Segment) && sizeof(Extent) == sizeof(wire::Extent));
  StripedFile& file = sending_.file;
  by_view_ = may_name_view();
  const Segment range = by_view_ ? span_of(piece_.memory) : Segment();
  memory_.emplace(channel, piece_.memory, sending_.write ? Access::read : Access::write);
  flatbuffers::Offset<flatbuffers::Vector<const wire::Segment*>> segments;
  if (channel->connection().needs_segments()) {
    bring_in(piece_.memory, !sending_.write);
    const std::span<const Segment> named = by_view_ ? only(range) : piece_.memory;
    segments =
        builder.CreateVectorOfStructs(reinterpret_cast<const wire::Segment*>(named.data()), named.size());
  }
  flatbuffers::Offset<flatbuffers::Vector<const wire::Extent*>> extents;
  if (by_view_) {
    sending_.view.view->tell(piece_.slot, channel);
  } else {
    extents = builder.CreateVectorOfStructs(reinterpret_cast<const wire::Extent*>(piece_.object.data()),
                                            piece_.object.size());
  }
  shown_ = file.capability.version();
  wire::TransferRequestBuilder fields(builder);
  fields.add_capability(&file.capability.capability());
  fields.add_tag(&sending_.tag);
  if (by_view_) {
    fields.add_view(sending_.view.view->number());
    fields.add_view_offset(sending_.view.offset + (range.address - sending_.view.address));
    fields.add_view_length(range.length);
    fields.add_view_share(piece_.length.count());
  } else {
    fields.add_extents(extents);
  }
  fields.add_region(memory_->region());
  if (!segments.IsNull()) fields.add_segments(segments);
  if (sending_.lock.number() != 0) fields.add_lock(&sending_.lock);
  turn_ = turn();
  if (turn_ != 0) fields.add_turn(turn_);
  if (number_) {
    fields.add_number(number_->number());
    fields.add_unanswered(number_->unanswered());
  }
  const wire::DirectedCall directed = directed_call();
  if (directed.id() != 0) fields.add_directed(&directed);
  wire::Took report;
  const Bytes small(file.options.inline_limit);
  if (sending_.write) {
    LocalWrites& local = file.local_writes[piece_.slot];
    fields.add_take(local.key(channel));
    if (local.expects_more(piece_, small)) fields.add_ahead(file.options.write_ahead.count());
    report = local.report();
  } else {
    LocalReads& local = file.local_reads[piece_.slot];
    fields.add_inline_limit(file.options.inline_limit);
    fields.add_take(local.key(channel));
    if (local.expects_more(piece_, small)) fields.add_ahead(file.options.read_ahead.count());
    report = local.report();
  }
  if (report.reads() + report.writes() > 0) fields.add_took(&report);
  const wire::Visitor visitor(file.rank, file.ranks, piece_.slot, file.layout().stripe_count);
  if (file.ranks > 0) fields.add_visitor(&visitor);
  builder.Finish(fields.Finish());
  return wire::bytes(builder);
}

Answer PieceRequest::ended(Result<Channel::Reply>& reply, const std::shared_ptr<Channel>& channel,
                           Nanos asked) {
  memory_->answered();
  memory_.reset();
  const wire::TransferReply* message = nullptr;
  Answer answer;
  if (reply.ok()) {
    message = wire::parse<wire::TransferReply>(reply->payload);
    if (message == nullptr) return {server().malformed()};
    if (message->load() != nullptr) server().load().heard(*message->load(), sending_.file.env.clock.steady());
    answer = answer_of(wire::status_of(*message));
  } else {
    answer = answer_of(reply.status());
  }
  if (by_view_ && message != nullptr) {
    if (answer.status.ok()) {
      sending_.view.view->known(piece_.slot);
    } else if (auto other = without_view(answer.status)) {
      return *std::move(other);
    }
  }
  if (answer.status.ok())
    return sending_.write ? wrote(*message, channel, asked) : read(*message, channel, asked);
  if (answer.status.code() == Code::busy && turn_ != 0) return held_back(std::move(answer));
  if (answer.status.code() == Code::stale && sending_.lock.number() != 0)
    sending_.file.locks.lose(sending_.lock.number());
  if (answer.status.code() == Code::corrupt && message != nullptr && message->rotten() < wire::kMaxOffset) {
    const Bytes offset = sending_.file.layout().file_offset(piece_.slot, Bytes(message->rotten()));
    answer.status = answer.status.with_context(fmt::format("file offset {}", offset.count()));
  }
  if (answer.next == Next::finish) answer.status = answer.status.with_context(server().name());
  return answer;
}

std::uint64_t PieceRequest::turn() const {
  const StripedFile& file = sending_.file;
  if (!sending_.write || sending_.lock.number() != 0 || !file.options.gate) return 0;
  if (held_back_ && file.env.clock.steady() - *held_back_ >= kLongestHeldBack) return 0;
  return file.options.gate->turn(file.layout().server_of_slot(piece_.slot));
}

Answer PieceRequest::held_back(Answer answer) {
  if (!held_back_) {
    held_back_ = sending_.file.env.clock.steady();
    sending_.file.env.log.info("{}: {}", server().name(), answer.status.message());
  }
  if (turn() != turn_) answer.next = Next::repeat_at_once;
  return answer;
}

Answer PieceRequest::wrote(const wire::TransferReply& reply, const std::shared_ptr<Channel>& channel,
                           Nanos asked) {
  auto marks = reply.marks() != 0 ? server().marks(reply.marks(), channel) : nullptr;
  sending_.file.local_writes[piece_.slot].accept(reply, channel, std::move(marks), asked);
  sending_.file.unsynced.wrote(piece_.slot, reply.boot());
  if (sending_.several) sending_.note_applied(piece_.slot, reply.cuts());
  return {};
}

void Sending::note_applied(std::uint32_t slot, std::uint64_t cuts) {
  for (Applied& each : applied) {
    if (each.slot != slot) continue;
    each.torn = each.torn || each.cuts != cuts;
    return;
  }
  applied.push_back({slot, cuts, false});
}

bool Sender::torn(std::uint32_t slot) const {
  return std::any_of(sending_.applied.begin(), sending_.applied.end(),
                     [slot](const Sending::Applied& each) { return each.slot == slot && each.torn; });
}

Answer PieceRequest::read(const wire::TransferReply& reply, const std::shared_ptr<Channel>& channel,
                          Nanos asked) {
  const Bytes valid_end(reply.valid_end());
  bool short_read = false;
  bool cut_meanwhile = false;
  if (reply.taken() != 0) {
    LocalReads& local = sending_.file.local_reads[piece_.slot];
    if (!local.accept(reply, channel)) return {Status(), Next::repeat_at_once};
    Status status = local.read(piece_, reply, asked, short_read);
    if (!status.ok()) return {std::move(status)};
    cut_meanwhile = local.cut_meanwhile();
  } else {
    ReadAnswer answer{valid_end};
    if (reply.bytes() != nullptr)
      answer.inside = std::as_bytes(std::span(reply.bytes()->data(), reply.bytes()->size()));
    if (!gather(piece_, answer, short_read))
      return {Status(Code::malformed, server().name() + " sent a reply of the wrong length")};
  }
  if (short_read) {
    sending_.short_pieces.push_back(
        ShortPiece::of(piece_, sending_.file.layout(), valid_end, reply.cuts(), cut_meanwhile));
  }
  return {};
}

Sender::Sender(StripedFile& file, bool write, const wire::Tag& tag, const wire::Lock& lock,
               const Pieces& pieces, std::size_t servers, const ViewUse& view)
    : sending_{file, write, tag, lock, pieces.size() > 1, view}, pieces_(pieces), servers_(servers) {}

Task<Status> Sender::send() {
  if (pieces_.size() > 1) return send_many();
  only_.emplace(sending_, pieces_[0], true);
  return only_->server().ask(*only_);
}

VisitFacts Sender::facts() const {
  const StripedFile& file = sending_.file;
  VisitFacts facts;
  facts.application = file.options.application;
  facts.client = file.options.client;
  facts.file = file.capability.capability().file();
  facts.write = sending_.write;
  for (std::uint32_t slot = 0; slot < file.layout().stripe_count && !facts.rotational; ++slot)
    facts.rotational = file.servers.of(slot).rotational();
  facts.rank = file.rank;
  facts.ranks = file.ranks;
  // The client's own for all its transfers: where it begins must not change between them.
  facts.chance = file.visit.chance;
  facts.transfer = sending_.tag.sequence();
  return facts;
}

bool Sender::is_last(std::size_t piece) const {
  for (std::size_t i = piece + 1; i < pieces_.size(); ++i) {
    if (pieces_[i].slot == pieces_[piece].slot) return false;
  }
  return true;
}

Task<Status> Sender::send_many() {
  StripedFile& file = sending_.file;
  SmallVector<const ServerLoad*, 16> loads;
  for (std::uint32_t slot = 0; slot < file.layout().stripe_count; ++slot)
    loads.push_back(&file.servers.of(slot).load());
  // Of a directed call the servers are to know all parts at once: nothing may be held back.
  const bool directed = sending_.view.call != nullptr;
  const std::shared_ptr<const TargetOrder> order =
      directed ? std::shared_ptr<const TargetOrder>(*make_target_order("alternate")) : file.visit.order;
  Flight flight(pieces_, file.layout(), *order, facts(), directed ? 0 : file.visit.per_server,
                {loads.data(), loads.size()});
  Event landed(file.env.clock.executor());
  const std::size_t room =
      file.visit.in_flight != 0 ? file.visit.in_flight : std::max<std::size_t>(kMostInFlight, servers_);
  const std::size_t at_once = directed ? pieces_.size() : std::min(room, pieces_.size());
  std::vector<Task<Status>> tasks;
  tasks.reserve(at_once);
  for (std::size_t i = 0; i < at_once; ++i) tasks.push_back(send_some(flight, landed));
  Status first;
  for (Status& status : co_await when_all(std::move(tasks))) {
    if (first.ok()) first = std::move(status);
  }
  co_return first;
}

// Sends one piece after another until there is none to send.
Task<Status> Sender::send_some(Flight& flight, Event& landed) {
  while (!flight.over()) {
    Clock& clock = sending_.file.env.clock;
    const Nanos now = clock.steady();
    const auto next = flight.take(now);
    if (!next && now < flight.paused_until()) {
      co_await clock.sleep(flight.paused_until() - now);
      continue;
    }
    if (!next) {
      landed.reset();
      co_await landed.wait();
      continue;
    }
    PieceRequest request(sending_, pieces_[*next], sending_.view.call != nullptr && is_last(*next));
    Status status = co_await request.server().ask(request);
    flight.landed(*next);
    if (!status.ok()) flight.stop();
    landed.set();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace tutti
