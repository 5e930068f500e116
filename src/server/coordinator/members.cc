#include "server/coordinator/members.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "env/combine.h"

namespace tutti {
namespace {

Task<Status> until(Event& event) {
  co_await event.wait();
  co_return Status();
}

}  // namespace

// Lives in the frame of ask(); the member forgets it with its end, and it the member with the member's.
struct Member::Question {
  Question(Member& asked, std::uint64_t id) : member(&asked), id(id), done(asked.scope_.executor()) {
    asked.questions_.emplace(id, this);
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  ~Question() {
    if (member != nullptr) member->questions_.erase(id);
  }
  Member* member;
  std::uint64_t id;
  Event done;
  Status status{Code::unavailable, "its session ended"};
};

Member::Member(Members& members, Connection& connection, JoinMessage who)
    : members_(members),
      connection_(connection),
      who_(who),
      heard_(members.env_.clock.now()),
      scope_(members.env_.clock.executor()) {
  members_.join(*this);
  scope_.spawn(watch());
}

Member::~Member() {
  members_.leave(*this);
  for (auto& [id, question] : questions_) {
    question->member = nullptr;
    question->done.set();
  }
}

void Member::heard() {
  heard_ = members_.env_.clock.now();
  members_.places_[who_.index].heard = members_.env_.clock.wall();
}

// Half of a connection may be gone without a sign: who is silent for too long is taken for gone.
Task<void> Member::watch() {
  Clock& clock = members_.env_.clock;
  while (clock.now() < heard_ + Members::kLease) co_await clock.sleep_until(heard_ + Members::kLease);
  members_.env_.log.warn("data server {} is silent: its session ends", who_.index);
  connection_.close();
}

void Member::report(UseReport report) {
  report_ = std::move(report);
  members_.reported_.set();
}

void Member::send(wire::Type type, std::span<const std::byte> payload) {
  connection_.send(wire::request_type(type), next_id_++, payload).ignore();
}

Task<Status> Member::ask(wire::Type type, flatbuffers::FlatBufferBuilder message) {
  Question question(*this, next_id_++);
  TUTTI_CO_TRY(connection_.send(wire::request_type(type), question.id, wire::bytes(message)));
  co_await question.done.wait();
  co_return std::move(question.status);
}

bool Member::answered(const Frame& frame) {
  const auto* reply = wire::parse<wire::StatusReply>(frame.payload);
  if (reply == nullptr) return false;
  const auto found = questions_.find(frame.id);
  if (found == questions_.end()) return true;  // whoever asked has given up
  found->second->status = wire::status_of(*reply);
  found->second->done.set();
  return true;
}

Members::Members(Env env, ServerKey key, std::vector<std::string> addresses)
    : env_(env), key_(key), joined_(env.clock.executor()), reported_(env.clock.executor()) {
  for (std::string& address : addresses) places_.push_back({std::move(address), nullptr, {}, {}});
}

void Members::join(Member& member) {
  Place& place = places_[member.who().index];
  if (place.member != nullptr) place.member->close();
  place.member = &member;
  place.since = place.heard = env_.clock.wall();
  env_.log.info("data server {} ({}) has joined", member.who().index, place.address);
  joined_.set();
  if (advice_ && advice_->expiry > env_.clock.wall())
    member.send(wire::Type::advice, wire::bytes(advice_message(key_, *advice_, env_.clock.wall())));
  if (!lost_turns_.empty()) {
    const std::vector<std::uint64_t> fences(lost_turns_.begin(), lost_turns_.end());
    member.send(wire::Type::lost_turns, wire::bytes(lost_turns_message(key_, fences, env_.clock.wall())));
  }
}

void Members::leave(Member& member) {
  Place& place = places_[member.who().index];
  if (place.member != &member) return;  // a successor is here
  place.member = nullptr;
  place.since = env_.clock.wall();
  env_.log.info("data server {} ({}) has left", member.who().index, place.address);
}

void Members::advise(Advice advice) {
  // Ascending over restarts too.
  const auto now = static_cast<std::uint64_t>(env_.clock.wall().count());
  advice.epoch = std::max(now, advice_ ? advice_->epoch + 1 : 0);
  advice_ = std::move(advice);
  const auto message = advice_message(key_, *advice_, env_.clock.wall());
  for (const Place& place : places_) {
    if (place.member != nullptr) place.member->send(wire::Type::advice, wire::bytes(message));
  }
}

void Members::lose_turn(std::uint64_t fence) {
  lost_turns_.push_back(fence);
  if (lost_turns_.size() > wire::kMaxLostTurns) lost_turns_.pop_front();
  const auto message = lost_turns_message(key_, {&fence, 1}, env_.clock.wall());
  for (const Place& place : places_) {
    if (place.member != nullptr) place.member->send(wire::Type::lost_turns, wire::bytes(message));
  }
}

std::vector<Lease> Members::leases() const {
  std::vector<Lease> leases;
  for (std::uint32_t index = 0; index < places_.size(); ++index) {
    const Place& place = places_[index];
    leases.push_back({index, place.member != nullptr, place.since, place.heard});
  }
  return leases;
}

std::uint32_t Members::connected() const {
  return static_cast<std::uint32_t>(std::count_if(
      places_.begin(), places_.end(), [](const Place& place) { return place.member != nullptr; }));
}

Task<Status> Members::gather(Nanos patience) {
  const Nanos deadline = env_.clock.now() + patience;
  for (;;) {
    const auto missing = std::find_if(places_.begin(), places_.end(),
                                      [](const Place& place) { return place.member == nullptr; });
    if (missing == places_.end()) co_return Status();
    const Nanos left = deadline - env_.clock.now();
    if (left <= 0_s) {
      co_return named(static_cast<std::uint32_t>(missing - places_.begin()),
                      Status(Code::unavailable, "it has no session with the coordinator"));
    }
    joined_.reset();
    (co_await with_timeout(env_.clock, left, until(joined_), "waiting for data servers")).ignore();
  }
}

bool Members::any_rotational() const {
  return std::any_of(places_.begin(), places_.end(), [](const Place& place) {
    return place.member != nullptr && place.member->who().rotational;
  });
}

Task<Status> Members::tell(std::uint32_t index, PolicyMessage message, Nanos patience) {
  Member* member = places_[index].member;
  if (member == nullptr) co_return named(index, Status(Code::unavailable, "its session ended"));
  auto asking =
      member->ask(wire::Type::policy_change, policy_change_message(key_, message, env_.clock.wall()));
  co_return named(index,
                  co_await with_timeout(env_.clock, patience, std::move(asking), "changing the policy"));
}

Task<Status> Members::tell_all(PolicyMessage message, Nanos patience) {
  std::vector<Task<Status>> telling;
  for (std::uint32_t index = 0; index < places_.size(); ++index)
    telling.push_back(tell(index, message, patience));
  Status first;
  for (Status& status : co_await when_all(std::move(telling))) {
    if (first.ok()) first = std::move(status);
  }
  co_return first;
}

Status Members::named(std::uint32_t index, const Status& status) const {
  if (status.ok()) return status;
  return {status.code() == Code::timed_out ? Code::unavailable : status.code(),
          fmt::format("data server {} ({}): {}", index, places_[index].address, status.message())};
}

}  // namespace tutti
