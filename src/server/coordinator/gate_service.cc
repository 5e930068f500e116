#include "server/coordinator/gate_service.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "server/meta/codec.h"

namespace tutti {
namespace {

constexpr std::uint8_t kRecordVersion = 1;
constexpr std::uint64_t kBlock = 1U << 16U;  // fencing numbers reserved at a time
constexpr std::size_t kMostAsks = 100'000;
// What was given back is written with the next grant, or so much later: it makes nobody wait. A restart before that finds
// holders that have gone, and hears so from them again.
constexpr Nanos kLater = 10_ms;
const char* const kFenceKey = "G";      // in the Kv: where the numbers end that were ever reserved
const char* const kMarkKey = "mark";    // in the state: it is not new
const char* const kRecordPrefix = "r";  // in the state: one demand each

std::string record_key(std::uint64_t sequence) {
  std::string key = kRecordPrefix;
  meta::append_big_endian(key, sequence);
  return key;
}

std::uint8_t to_wire(const gate::Answer& answer) {
  switch (answer.standing) {
    case gate::Standing::waiting:
      return wire::kGateWaiting;
    case gate::Standing::granted:
      return wire::kGateGranted;
    case gate::Standing::passed:
      return answer.reason == gate::PassReason::holding ? wire::kGateHolding : wire::kGateBlocked;
    case gate::Standing::gone:
      break;
  }
  return wire::kGateGone;
}

bool short_enough(const flatbuffers::String* text) {
  return text == nullptr || text->size() <= wire::kMaxGateName;
}

// False if the message asks for something that cannot be.
bool read_ask(const wire::GateAskRequest& request, gate::Ask& ask) {
  const auto* resources = request.resources();
  if (resources == nullptr || resources->size() == 0 || resources->size() > wire::kMaxGateResources)
    return false;
  if (!short_enough(request.program()) || !short_enough(request.label())) return false;
  ask.name = {request.job(), request.number()};
  for (const flatbuffers::String* each : *resources) {
    if (each == nullptr || each->size() == 0 || !short_enough(each)) return false;
    ask.resources.push_back(each->str());
  }
  ask.expected = Bytes(request.expected());
  ask.alone = request.alone();
  return true;
}

Task<void> after(Clock& clock, Nanos delay, std::function<void()> then) {
  co_await clock.sleep(delay);
  then();
}

gate::LockOptions without_grace(gate::LockOptions options) {
  options.grace = 0_s;  // of a table whose memory is whole; restore() decides
  return options;
}

}  // namespace

void GateService::Due::fire(Timer* self) {
  GateService& service = static_cast<Due*>(self)->service;
  service.due_at_ = Nanos::max();
  service.table_.advance(service.env_.clock.now());
  service.settle();
}

GateService::GateService(Env env, Kv& kv, Kv* state, gate::LockOptions options)
    : env_(env),
      kv_(kv),
      state_(state),
      options_(options),
      table_(without_grace(options)),
      due_(*this),
      scope_(env.clock.executor()) {}

Task<Status> GateService::open() {
  std::uint64_t before = 0;
  TUTTI_CO_TRY(kv_.view([&](const KvReader& reader) -> Status {
    const auto stored = reader.get(kFenceKey);
    if (!stored.ok()) return stored.status();
    if (!stored->has_value()) return {};
    meta::Decoder decoder(**stored);
    if (decoder.number<std::uint8_t>() != kRecordVersion)
      return {Code::malformed, "gate: the record of the fencing numbers is damaged"};
    before = decoder.number<std::uint64_t>();
    return decoder.sound() ? Status()
                           : Status(Code::malformed, "gate: the record of the fencing numbers is damaged");
  }));
  fence_end_ = std::max<std::uint64_t>(before, 1);

  std::vector<gate::LockRecord> records;
  bool whole = before == 0;  // nothing was ever granted
  if (state_ != nullptr) {
    TUTTI_CO_TRY(state_->view([&](const KvReader& reader) -> Status {
      const auto mark = reader.get(kMarkKey);
      if (!mark.ok()) return mark.status();
      whole = whole || mark->has_value();
      return reader.scan(kRecordPrefix, [&](std::string_view key, std::string_view value) {
        if (!key.starts_with(kRecordPrefix)) return false;
        if (auto record = decode_lock_record(value)) records.push_back(*std::move(record));
        return true;
      });
    }));
    if (whole) TUTTI_CO_TRY(co_await mark_whole());
  }
  if (!whole) {
    table_ = gate::LockTable(options_);
    if (state_ != nullptr) scope_.spawn(mark_after_grace());
    env_.log.info("gate: what was granted before is not known; nothing is granted for {}",
                  to_string(options_.grace));
  }
  // A cluster that never used its gate has nothing to write for it.
  if (before != 0) TUTTI_CO_TRY(co_await reserve_fences());
  if (!whole || !records.empty()) table_.restore(records, env_.clock.now());
  settle();
  co_return Status();
}

Task<Status> GateService::mark_whole() {
  std::function<Status(KvWriter&)> mark = [](KvWriter& writer) { return writer.put(kMarkKey, "1"); };
  co_return co_await state_->update(std::move(mark));
}

// Not before everybody could say what he holds: a start within the grace has to begin it anew.
Task<void> GateService::mark_after_grace() {
  co_await env_.clock.sleep(options_.grace);
  const Status status = co_await mark_whole();
  if (!status.ok()) env_.log.warn("gate: {}", status.to_string());
}

Task<Status> GateService::reserve_fences() {
  const std::uint64_t end = fence_end_ + kBlock;
  std::function<Status(KvWriter&)> body = [end](KvWriter& kv) {
    return kv.put(kFenceKey, meta::Encoder().number(kRecordVersion).number(end).take());
  };
  const Status stored = co_await kv_.update(std::move(body));
  if (!stored.ok()) co_return stored.with_context("gate: reserve fencing numbers");
  // One range: what is left of the block before goes on into this one.
  table_.reserve(fence_end_ - table_.fences_left(), end);
  fence_end_ = end;
  co_return Status();
}

Task<void> GateService::reserve_more() {
  const Status status = co_await reserve_fences();
  reserving_ = false;
  if (!status.ok()) env_.log.warn("{}", status.to_string());
  settle();
}

void GateService::settle() {
  for (const gate::Decision& decision : table_.take_decisions()) {
    if (lost_ && decision.answer.standing == gate::Standing::gone && decision.answer.fence != 0)
      lost_(decision.answer.fence);
    const auto found = known_.find(decision.name);
    if (found == known_.end()) continue;
    Known& ask = found->second;
    ask.since = env_.clock.now();
    if (ask.peer != 0) replies_.push_back({std::exchange(ask.peer, 0), ask.frame, decision.answer});
    if (decision.answer.standing != gate::Standing::gone) continue;
    if (decision.answer.fence != 0) {
      env_.log.warn("gate: {} lost its turn on {}: nothing was heard of it for {}", ask.program, ask.label,
                    to_string(options_.lease));
    }
    known_.erase(found);
  }
  const bool none_unwritten = unwritten_.empty();
  bool at_once = !replies_.empty();
  for (gate::LockChange& change : table_.take_changes()) {
    if (state_ == nullptr) continue;
    std::optional<std::string> bytes;
    if (change.record) bytes = encode(*change.record);
    at_once = at_once || change.record;  // also who waits: a restart keeps the order
    unwritten_.insert_or_assign(change.sequence, std::move(bytes));
  }
  if (!replies_.empty() || !unwritten_.empty()) {
    if (unwritten_.empty() && !writing_) {
      for (const Reply& reply : std::exchange(replies_, {})) send(reply);
    } else if (!writing_ && at_once) {
      writing_ = true;
      scope_.start(write());
    } else if (!writing_ && none_unwritten) {
      scope_.spawn(after(env_.clock, kLater, [this] {
        if (writing_ || unwritten_.empty()) return;
        writing_ = true;
        scope_.spawn(write());
      }));
    }
  }
  if (table_.fences_left() < kBlock / 2 && !reserving_ && (fence_end_ > 1 || table_.counters().asked > 0)) {
    reserving_ = true;
    scope_.spawn(reserve_more());
  }
  const Nanos next = table_.next();
  if (next == due_at_) return;
  due_at_ = next;
  if (next == Nanos::max()) return due_.disarm();
  env_.clock.executor().arm(due_, next);
}

// Answers leave when what they say has been written.
Task<void> GateService::write() {
  while (!replies_.empty() || !unwritten_.empty()) {
    const std::vector<Reply> replies = std::exchange(replies_, {});
    if (!unwritten_.empty()) {
      std::function<Status(KvWriter&)> body = [changes =
                                                   std::exchange(unwritten_, {})](KvWriter& kv) -> Status {
        for (const auto& [sequence, bytes] : changes) {
          TUTTI_TRY(bytes ? kv.put(record_key(sequence), *bytes) : kv.erase(record_key(sequence)));
        }
        return {};
      };
      const Status written = co_await state_->update(std::move(body));
      // Then a restart forgets, and holders say again what they hold.
      if (!written.ok()) env_.log.warn("gate: {}", written.to_string());
    }
    for (const Reply& reply : replies) send(reply);
  }
  writing_ = false;
}

void GateService::send(const Reply& reply) {
  const auto peer = peers_.find(reply.peer);
  if (peer == peers_.end()) return;
  flatbuffers::FlatBufferBuilder builder(128);
  builder.Finish(wire::CreateGateAskReply(builder, 0, 0, to_wire(reply.answer), reply.answer.fence,
                                          options_.lease.count()));
  peer->second->connection_.send(wire::reply_type(wire::Type::gate_ask), reply.frame, wire::bytes(builder))
      .ignore();
}

void GateService::forget(gate::AskName name) { known_.erase(name); }

GateService::Peer::Peer(GateService& service, Connection& connection)
    : service_(service), connection_(connection), number_(service.next_peer_++) {
  service_.peers_[number_] = this;
}

GateService::Peer::~Peer() { service_.peers_.erase(number_); }

bool GateService::Peer::knows(std::uint16_t type) {
  return type == wire::request_type(wire::Type::gate_ask) ||
         type == wire::request_type(wire::Type::gate_release) ||
         type == wire::request_type(wire::Type::gate_renew) ||
         type == wire::request_type(wire::Type::gate_status);
}

bool GateService::Peer::handle(const Frame& frame) {
  switch (static_cast<wire::Type>(frame.type)) {
    case wire::Type::gate_ask:
      return on_ask(frame);
    case wire::Type::gate_release:
      return on_release(frame);
    case wire::Type::gate_renew:
      return on_renew(frame);
    case wire::Type::gate_status:
      return on_status(frame);
    default:
      return false;
  }
}

bool GateService::Peer::on_ask(const Frame& frame) {
  const auto* request = wire::parse<wire::GateAskRequest>(frame.payload);
  gate::Ask ask;
  if (request == nullptr || !read_ask(*request, ask)) return false;
  const Nanos now = service_.env_.clock.now();
  const std::uint32_t uid = connection_.peer().uid;
  const auto refuse = [&](const Status& status) {
    flatbuffers::FlatBufferBuilder builder(256);
    const auto message = builder.CreateString(status.message());
    builder.Finish(wire::CreateGateAskReply(builder, static_cast<std::uint16_t>(status.code()), message));
    connection_.send(wire::reply_type(wire::Type::gate_ask), frame.id, wire::bytes(builder)).ignore();
    return true;
  };
  const auto found = service_.known_.find(ask.name);
  if (found != service_.known_.end() && found->second.uid != uid && uid != 0)
    return refuse({Code::permission, "gate: this ask is another user's"});
  if (found == service_.known_.end() && service_.known_.size() >= kMostAsks)
    return refuse({Code::busy, fmt::format("gate: {} asks are known already", kMostAsks)});

  gate::Answer answer;
  if (request->fence() != 0 && !service_.table_.reassert(ask, request->fence(), now).ok()) {
    answer.standing = gate::Standing::gone;
  } else {
    answer = request->fence() != 0 ? service_.table_.answer(ask.name) : service_.table_.ask(ask, now);
  }
  if (answer.standing == gate::Standing::gone) {
    service_.known_.erase(ask.name);
  } else {
    Known& known = service_.known_[ask.name];
    if (found == service_.known_.end()) known.since = now;
    known.uid = uid;
    known.program = wire::text(request->program());
    known.label = wire::text(request->label());
    known.peer = 0;
    if (answer.standing == gate::Standing::waiting && request->wait()) {
      known.peer = number_;
      known.frame = frame.id;
    }
  }
  if (answer.standing != gate::Standing::waiting || !request->wait())
    service_.replies_.push_back({number_, frame.id, answer});
  service_.settle();
  return true;
}

bool GateService::Peer::on_release(const Frame& frame) {
  const auto* request = wire::parse<wire::GateReleaseRequest>(frame.payload);
  if (request == nullptr) return false;
  const gate::AskName name{request->job(), request->number()};
  const auto found = service_.known_.find(name);
  const std::uint32_t uid = connection_.peer().uid;
  if (found != service_.known_.end() && found->second.uid != uid && uid != 0) return true;
  // What is not known any more was lost, and that was told then.
  service_.table_.release(name, Bytes(request->bytes()), service_.env_.clock.now()).ignore();
  if (request->blocked()) ++service_.gave_up_;
  service_.forget(name);
  service_.settle();
  return true;
}

bool GateService::Peer::on_renew(const Frame& frame) {
  const auto* request = wire::parse<wire::GateRenewRequest>(frame.payload);
  if (request == nullptr) return false;
  const std::vector<std::uint64_t> numbers = wire::numbers(request->numbers());
  if (numbers.size() > wire::kMaxGateNumbers) return false;
  const Nanos now = service_.env_.clock.now();
  service_.unguarded_ += request->unguarded();
  service_.table_.renew(request->job(), now);
  service_.settle();
  std::vector<std::uint64_t> unknown;
  for (const std::uint64_t number : numbers) {
    if (service_.table_.answer({request->job(), number}).standing == gate::Standing::gone)
      unknown.push_back(number);
  }
  flatbuffers::FlatBufferBuilder builder(128);
  const auto list = builder.CreateVector(unknown);
  builder.Finish(wire::CreateGateRenewReply(builder, 0, 0, list));
  connection_.send(wire::reply_type(wire::Type::gate_renew), frame.id, wire::bytes(builder)).ignore();
  return true;
}

bool GateService::Peer::on_status(const Frame& frame) {
  if (wire::parse<wire::GateStatusRequest>(frame.payload) == nullptr) return false;
  constexpr std::size_t kMostRows = 2000;  // a reply has a longest length
  const Nanos now = service_.env_.clock.now();
  const gate::LockTable& table = service_.table_;
  flatbuffers::FlatBufferBuilder builder(4096);
  std::vector<flatbuffers::Offset<wire::GateRow>> rows;
  std::map<gate::Resource, std::pair<std::uint32_t, std::uint32_t>> counts;  // holders, waiting
  for (const gate::LockRecord& record : table.records()) {
    gate::Answer answer;
    answer.standing = record.standing;
    answer.reason = record.reason;
    for (const gate::Resource& resource : record.resources) {
      counts[resource].first += record.standing == gate::Standing::granted ? 1 : 0;
      counts[resource].second += record.standing == gate::Standing::waiting ? 1 : 0;
    }
    if (rows.size() >= kMostRows || record.numbers.empty()) continue;
    const auto found = service_.known_.find({record.job, record.numbers.front()});
    const bool heard = found != service_.known_.end();
    const auto program =
        builder.CreateString(heard ? found->second.program : "(not heard of since the restart)");
    const auto label = builder.CreateString(heard ? found->second.label : "");
    const std::size_t shown = std::min<std::size_t>(record.resources.size(), 8);
    const auto resources = builder.CreateVectorOfStrings(std::vector<std::string>(
        record.resources.begin(), record.resources.begin() + static_cast<std::ptrdiff_t>(shown)));
    rows.push_back(wire::CreateGateRow(builder, record.job, heard ? found->second.uid : 0, program, label,
                                       resources, to_wire(answer),
                                       heard ? (now - found->second.since).count() : 0, record.fence));
  }
  std::vector<flatbuffers::Offset<wire::GateResourceRow>> resources;
  for (const auto& [resource, count] : counts) {
    if (resources.size() >= kMostRows) break;
    const auto name = builder.CreateString(resource);
    resources.push_back(wire::CreateGateResourceRow(builder, name, count.first, count.second,
                                                    table.holders(resource),
                                                    table.state(resource) == gate::LockState::error));
  }
  const auto row_list = builder.CreateVector(rows);
  const auto resource_list = builder.CreateVector(resources);
  const gate::LockCounters& counters = table.counters();
  wire::GateStatusReplyBuilder reply(builder);
  reply.add_rows(row_list);
  reply.add_resources(resource_list);
  reply.add_asked(counters.asked);
  reply.add_granted(counters.granted);
  reply.add_passed_blocked(counters.passed_blocked + service_.gave_up_);
  reply.add_passed_holding(counters.passed_holding);
  reply.add_unguarded(service_.unguarded_);
  reply.add_lost(counters.lost);
  reply.add_lease(service_.options_.lease.count());
  reply.add_in_grace(table.in_grace());
  builder.Finish(reply.Finish());
  connection_.send(wire::reply_type(wire::Type::gate_status), frame.id, wire::bytes(builder)).ignore();
  return true;
}

}  // namespace tutti
