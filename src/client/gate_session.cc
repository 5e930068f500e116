#include "client/gate_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "env/combine.h"

namespace tutti {
namespace {

constexpr Nanos kFirstLease = 5_s;  // until the coordinator has told
constexpr Nanos kShortestPause = 10_ms;
constexpr std::size_t kMostUnheard = 1024;

}  // namespace

std::string_view to_string(GateOutcome outcome) {
  switch (outcome) {
    case GateOutcome::waiting:
      return "waiting";
    case GateOutcome::granted:
      return "granted";
    case GateOutcome::blocked:
      return "blocked";
    case GateOutcome::holding:
      return "holding";
    case GateOutcome::unguarded:
      return "unguarded";
    case GateOutcome::lost:
      return "lost";
  }
  return "";
}

std::string gate_resource(std::uint64_t cluster, std::uint32_t server) {
  return fmt::format("tutti:{:x}/data.{}", cluster, server);
}

// One ask on its way: until the coordinator has decided it.
class GateSession::Seek {
 public:
  Seek(GateSession& gate, std::uint64_t number, Entry& entry, std::uint64_t fence)
      : gate_(gate), number_(number), entry_(entry), fence_(fence) {}

  [[nodiscard]] static std::uint16_t type() { return wire::request_type(wire::Type::gate_ask); }
  Result<std::span<const std::byte>> message(flatbuffers::FlatBufferBuilder& builder,
                                             const std::shared_ptr<Channel>& /*channel*/) {
    sent_ = gate_.env_.clock.steady();
    unheard_ = gate_.unheard_first_ + gate_.unheard_.size();
    const auto resources = builder.CreateVectorOfStrings(entry_.ask.resources);
    const auto program = builder.CreateString(gate_.options_.program);
    const auto label = builder.CreateString(entry_.ask.label);
    wire::GateAskRequestBuilder request(builder);
    request.add_job(gate_.options_.job);
    request.add_number(number_);
    request.add_resources(resources);
    request.add_alone(entry_.ask.alone);
    request.add_expected(entry_.ask.expected.count());
    request.add_fence(fence_);
    request.add_wait(true);
    request.add_program(program);
    request.add_label(label);
    builder.Finish(request.Finish());
    return wire::bytes(builder);
  }
  Answer ended(Result<Channel::Reply>& reply, const std::shared_ptr<Channel>& /*channel*/, Nanos /*asked*/) {
    if (!reply.ok()) return answer_of(reply.status());
    const auto* message = wire::parse<wire::GateAskReply>(reply->payload);
    if (message == nullptr) return {gate_.session_.malformed()};
    Status status = wire::status_of(*message);
    if (!status.ok()) return answer_of(std::move(status));
    // What was said before this message has been heard.
    while (gate_.unheard_first_ < unheard_ && !gate_.unheard_.empty()) {
      gate_.unheard_.pop_front();
      ++gate_.unheard_first_;
    }
    gate_.lease_ = Nanos(message->lease());
    state = message->state();
    fence = message->fence();
    // A place in the queue that was lost is asked for anew.
    if (state == wire::kGateGone && fence_ == 0) return {Status(), Next::repeat};
    return {Status()};
  }
  [[nodiscard]] Nanos sent() const { return sent_; }

  std::uint8_t state = wire::kGateGone;
  std::uint64_t fence = 0;

 private:
  GateSession& gate_;
  std::uint64_t number_;
  Entry& entry_;
  std::uint64_t fence_;
  Nanos sent_;
  std::uint64_t unheard_ = 0;
};

GateSession::GateSession(Env env, GateSessionOptions options)
    : env_(env),
      options_(std::move(options)),
      session_(env_, info_, "coordinator", options_.address),
      lease_(kFirstLease),
      busy_(env.clock.executor()),
      scope_(env.clock.executor()) {
  if (options_.job == 0) options_.job = std::max<std::uint64_t>(1, env_.random.next());
  const auto fit = [](std::string& text) { text.resize(std::min(text.size(), wire::kMaxGateName)); };
  fit(options_.program);
  info_.cluster = options_.cluster;
  info_.client = options_.job;
  info_.program = options_.program;
  info_.patience = info_.first_patience = options_.patience;
  session_.on_connected([this](const std::shared_ptr<Channel>& channel) {
    for (const Release& release : unheard_) send(*channel, options_.job, release);
  });
  scope_.spawn(keep());
}

GateSession::~GateSession() = default;

std::uint64_t GateSession::begin(GateAsk ask) {
  const std::uint64_t number = next_number_++;
  auto entry = std::make_shared<Entry>(env_.clock.executor());
  ask.label.resize(std::min(ask.label.size(), wire::kMaxGateName));
  entry->ask = std::move(ask);
  entries_[number] = entry;
  busy_.set();
  return number;
}

std::uint64_t GateSession::ask(GateAsk ask) {
  const std::uint64_t number = begin(std::move(ask));
  scope_.start(pursue(number, entries_.at(number)));
  return number;
}

Task<GateTurn> GateSession::acquire(GateAsk ask) {
  // An ask that is given up is taken back.
  struct Giving {
    GateSession& gate;
    std::uint64_t number;
    bool kept = false;
    Giving(GateSession& session, std::uint64_t name) : gate(session), number(name) {}
    Giving(const Giving&) = delete;
    Giving& operator=(const Giving&) = delete;
    ~Giving() {
      if (!kept) gate.release(number);
    }
  };
  const std::uint64_t number = begin(std::move(ask));
  Giving giving(*this, number);
  co_await pursue(number, entries_.at(number));
  giving.kept = true;
  co_return test(number);
}

GateTurn GateSession::test(std::uint64_t number) const {
  const auto found = entries_.find(number);
  if (found == entries_.end()) return {number, GateOutcome::lost, 0};
  const Entry& entry = *found->second;
  return {number, entry.outcome, entry.outcome == GateOutcome::granted ? entry.fence : 0};
}

bool GateSession::valid(std::uint64_t number) const {
  const auto found = entries_.find(number);
  if (found == entries_.end() || found->second->outcome != GateOutcome::granted) return false;
  // The coordinator's clock may run a little faster.
  return env_.clock.steady() < found->second->confirmed + lease_ - lease_ / 16;
}

void GateSession::decide(Entry& entry, GateOutcome outcome) {
  entry.outcome = outcome;
  counts_.granted += outcome == GateOutcome::granted ? 1 : 0;
  counts_.blocked += outcome == GateOutcome::blocked ? 1 : 0;
  counts_.holding += outcome == GateOutcome::holding ? 1 : 0;
  counts_.unguarded += outcome == GateOutcome::unguarded ? 1 : 0;
  entry.decided.set();
}

Task<void> GateSession::pursue(std::uint64_t number, std::shared_ptr<Entry> entry) {
  Task<Status> seeking = seek(number, entry);
  Status status;
  if (entry->ask.limit > 0_s) {
    status = co_await with_timeout(env_.clock, entry->ask.limit, std::move(seeking), "waiting for a turn");
  } else {
    status = co_await std::move(seeking);
  }
  if (entry->outcome != GateOutcome::waiting || !entries_.contains(number)) co_return;
  const bool away = !session_.connected() || status.code() != Code::timed_out || entry->ask.limit <= 0_s;
  tell({number, {}, !away});
  if (!away) {
    env_.log.info("gate: no turn on {} within {}: going on without", entry->ask.label,
                  to_string(entry->ask.limit));
    decide(*entry, GateOutcome::blocked);
    co_return;
  }
  if (!std::exchange(complained_, true)) {
    env_.log.warn("gate: writing {} without a turn: {}", entry->ask.label, status.to_string());
  }
  ++untold_unguarded_;
  decide(*entry, GateOutcome::unguarded);
}

// Ends when it is decided, or with the reason why nobody will.
Task<Status> GateSession::seek(std::uint64_t number, std::shared_ptr<Entry> entry) {
  for (;;) {
    TUTTI_CO_TRY(co_await ask_once(number, entry, 0));
    if (entry->outcome != GateOutcome::granted) co_return Status();
    if (env_.clock.steady() - entry->confirmed < lease_ / 4) co_return Status();
    // The grant came long after the ask was sent: from when its lease counts, only a fresh word can tell.
    const Status renewed = co_await renew();
    if (renewed.ok() && valid(number)) co_return Status();
    if (!entries_.contains(number)) co_return Status();
    entry->outcome = GateOutcome::waiting;
    --counts_.granted;
    if (!renewed.ok()) co_return renewed;
  }
}

Task<Status> GateSession::ask_once(std::uint64_t number, std::shared_ptr<Entry> entry, std::uint64_t fence) {
  Seek request(*this, number, *entry, fence);
  TUTTI_CO_TRY(co_await session_.ask(request));
  complained_ = false;
  if (!entries_.contains(number)) co_return Status();
  entry->confirmed = request.sent();
  entry->fence = request.fence;
  if (fence != 0) {
    if (request.state != wire::kGateGranted) lose(number, *entry);
    co_return Status();
  }
  if (request.state == wire::kGateGranted) decide(*entry, GateOutcome::granted);
  if (request.state == wire::kGateBlocked) decide(*entry, GateOutcome::blocked);
  if (request.state == wire::kGateHolding) decide(*entry, GateOutcome::holding);
  co_return Status();
}

void GateSession::lose(std::uint64_t number, Entry& entry) {
  if (entry.outcome != GateOutcome::granted) return;
  entry.outcome = GateOutcome::lost;
  entry.fence = 0;
  ++counts_.lost;
  env_.log.warn("gate: the turn on {} was lost", entry.ask.label);
  if (lost_) lost_(number);
}

Task<void> GateSession::keep() {
  for (;;) {
    co_await busy_.wait();
    co_await env_.clock.sleep(std::max(lease_ / 4, kShortestPause));
    if (entries_.empty()) {
      busy_.reset();
      continue;
    }
    if (alive_ && !alive_()) continue;
    (co_await renew()).ignore();  // the next one may come through; who needs to know looks at valid()
  }
}

Task<Status> GateSession::renew() {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, entry] : entries_) {
    const bool counts = entry->outcome == GateOutcome::granted || entry->outcome == GateOutcome::waiting;
    if (counts && numbers.size() < wire::kMaxGateNumbers) numbers.push_back(number);
  }
  if (numbers.empty() && untold_unguarded_ == 0) co_return Status();
  const std::uint64_t unguarded = std::exchange(untold_unguarded_, 0);
  flatbuffers::FlatBufferBuilder builder(256);
  const auto list = builder.CreateVector(numbers);
  builder.Finish(wire::CreateGateRenewRequest(builder, options_.job, list, unguarded));
  const Nanos sent = env_.clock.steady();
  const auto reply = co_await session_.call<wire::GateRenewReply>(wire::request_type(wire::Type::gate_renew),
                                                                  wire::bytes(builder));
  if (!reply.ok()) {
    untold_unguarded_ += unguarded;
    co_return reply.status();
  }
  std::vector<std::uint64_t> unknown =
      wire::numbers(flatbuffers::GetRoot<wire::GateRenewReply>(reply->payload.data())->unknown());
  for (const std::uint64_t number : numbers) {
    const auto found = entries_.find(number);
    if (found == entries_.end()) continue;
    const std::shared_ptr<Entry> entry = found->second;
    if (std::find(unknown.begin(), unknown.end(), number) == unknown.end()) {
      entry->confirmed = std::max(entry->confirmed, sent);
    } else if (entry->outcome == GateOutcome::granted) {
      // One whose lease is over by its own reckoning may have lost it to somebody: only a turn that holds is claimed again.
      if (valid(number)) {
        co_await reassert(number, entry);
      } else {
        lose(number, *entry);
      }
    }
  }
  co_return Status();
}

Task<void> GateSession::reassert(std::uint64_t number, std::shared_ptr<Entry> entry) {
  if (entry->fence != 0) (co_await ask_once(number, entry, entry->fence)).ignore();
}

void GateSession::release(std::uint64_t number, Bytes written) {
  const auto found = entries_.find(number);
  if (found == entries_.end()) return;
  const GateOutcome outcome = found->second->outcome;
  entries_.erase(found);
  // Told when it gave up; or there is nothing left to give back.
  if (outcome == GateOutcome::unguarded || outcome == GateOutcome::blocked || outcome == GateOutcome::lost)
    return;
  tell({number, written, false});
}

void GateSession::release_all() {
  while (!entries_.empty()) release(entries_.begin()->first);
}

void GateSession::tell(Release release) {
  if (unheard_.size() >= kMostUnheard) {
    unheard_.pop_front();
    ++unheard_first_;
  }
  unheard_.push_back(release);
  if (session_.connected()) send(*session_.channel(), options_.job, release);
}

void GateSession::send(Channel& channel, std::uint64_t job, const Release& release) {
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(
      wire::CreateGateReleaseRequest(builder, job, release.number, release.written.count(), release.blocked));
  channel.connection().send(wire::request_type(wire::Type::gate_release), 0, wire::bytes(builder)).ignore();
}

}  // namespace tutti
