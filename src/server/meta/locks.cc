#include "server/meta/locks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "env/combine.h"
#include "server/meta/records.h"

namespace tutti::meta {
namespace {

constexpr std::size_t kMaxLocks = 256;  // of one session, held and waited for
constexpr Nanos kLongestWait = 3600_s;
// How long, and how many, lost locks are remembered.
constexpr Nanos kRemembered = 600_s;
constexpr std::size_t kMostLost = 4096;

// Between the epoch and the oldest one in the record.
constexpr char kOldest = ':';

// Takes the next number from the text; nothing at its end.
std::optional<std::uint64_t> next_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

Task<Status> wait_for(std::shared_ptr<Event> event) {
  co_await event->wait();
  co_return Status();
}

}  // namespace

class Locks::Waiting {
 public:
  Waiting(Locks& locks, LockName name) : locks_(locks), name_(name) {
    locks_.waiting_.emplace(name, std::make_shared<Event>(locks.env_.clock.executor()));
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    locks_.waiting_.erase(name_);
    if (!answered_) locks_.wake(locks_.table_.remove(name_));
  }
  void answered() { answered_ = true; }

 private:
  Locks& locks_;
  LockName name_;
  bool answered_ = false;
};

Locks::Locks(Env env, Kv& kv, Nanos lease, Nanos grace)
    : env_(std::move(env)), kv_(kv), lease_(lease), grace_(grace), scope_(env_.clock.executor()) {}

Status Locks::open() {
  TUTTI_TRY(kv_.view([&](const KvReader& kv) -> Status {
    const Result<std::optional<std::string>> mark = kv.get(lock_mark_key());
    if (!mark.ok()) return mark.status();
    marked_ = mark->has_value();
    std::string_view text = marked_ ? std::string_view(**mark) : std::string_view();
    const std::uint64_t last = next_number(text).value_or(0);
    oldest_ = last;
    if (text.starts_with(kOldest)) {
      text.remove_prefix(1);
      oldest_ = next_number(text).value_or(last);
    }
    while (const auto client = next_number(text)) {
      const auto number = next_number(text);
      if (!number) break;
      lost_.push_back({0, LockRange(), *client, *number, env_.clock.now(), true});
    }
    const auto wall = static_cast<std::uint64_t>(std::max<std::int64_t>(env_.clock.wall().count(), 1));
    epoch_ = std::max(wall, marked_ ? last + 1 : 0);
    return {};
  }));
  if (!marked_) return {};
  forgotten_ = env_.clock.now() + grace_ + kRemembered;
  grace_end_ = env_.clock.now() + grace_;
  scope_.spawn(end_grace());
  return {};
}

// With nothing reclaimed the next restart needs no grace.
Task<void> Locks::end_grace() {
  co_await env_.clock.sleep_until(grace_end_);
  if (table_.size() != 0) co_return;
  if (recorded_ > 0) co_return;  // a lock of this epoch was granted meanwhile
  marked_ = false;
  std::function<Status(KvWriter&)> body = [](KvWriter& kv) { return kv.erase(lock_mark_key()); };
  (co_await kv_.update(std::move(body))).ignore();
}

// The epoch, and the lost locks that others have got: who had one may not hear of it before a restart, and must not have it
// again after that.
Task<Status> Locks::mark() {
  for (;;) {
    const std::uint64_t oldest = env_.clock.now() < grace_end_ ? oldest_ : epoch_;
    if (recorded_ >= taken_ && recorded_oldest_ == oldest) co_return Status();
    const std::uint64_t known = taken_;
    std::string text = fmt::format("{}{}{}", epoch_, kOldest, oldest);
    for (const LostLock& each : lost_) {
      if (each.taken) text += fmt::format(" {} {}", each.client, each.number);
    }
    std::function<Status(KvWriter&)> body = [text](KvWriter& kv) { return kv.put(lock_mark_key(), text); };
    TUTTI_CO_TRY(co_await kv_.update(std::move(body)));
    marked_ = true;
    recorded_ = std::max(recorded_, known);
    recorded_oldest_ = oldest;
  }
}

std::uint64_t Locks::join(std::uint32_t uid, std::uint64_t client) {
  for (const auto& [number, session] : sessions_) {
    if (session.uid != uid || session.client != client) continue;
    lose(number);
    wake(table_.remove_session(number));  // what it waits for, too
  }
  const std::uint64_t number = ++next_session_;
  sessions_.emplace(number, Session{uid, client, env_.clock.now()});
  return number;
}

void Locks::leave(std::uint64_t session) {
  if (!sessions_.contains(session)) return;
  lose(session);
  wake(table_.remove_session(session));
  sessions_.erase(session);
}

void Locks::lose(std::uint64_t session) {
  const auto holder = sessions_.find(session);
  for (const LockTable::Held& held : table_.held(session)) {
    if (holder != sessions_.end())
      lost_.push_back({held.inode, held.range, holder->second.client, held.number, env_.clock.now(), false});
    wake(table_.remove({session, held.number}));
  }
  while (lost_.size() > kMostLost || (!lost_.empty() && env_.clock.now() - lost_.front().when > kRemembered))
    lost_.pop_front();
}

Locks::Lost Locks::lost(std::uint64_t inode, const LockRange& range) const {
  const Nanos now = env_.clock.now();
  Lost found;
  if (now < forgotten_) found.epoch = epoch_;
  for (auto each = lost_.rbegin(); each != lost_.rend() && now - each->when < kRemembered; ++each) {
    if (found.locks.size() == wire::kMaxLostLocks) break;
    if (each->inode == inode && each->range.begin < range.end && range.begin < each->range.end)
      found.locks.emplace_back(each->client, each->number);
  }
  return found;
}

void Locks::heard(std::uint64_t session) {
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) found->second.heard = env_.clock.now();
}

Task<Status> Locks::acquire(std::uint64_t session, LockAsk ask) {
  const LockName name{session, ask.number};
  const Nanos now = env_.clock.now();
  const Nanos deadline = now + std::clamp(ask.patience, 0_s, kLongestWait);
  if (ask.reclaim) {
    if (table_.granted(name)) co_return Status();  // whoever is not sure asks
    TUTTI_CO_TRY(co_await mark());
    if (table_.granted(name)) co_return Status();  // twice at once, for two who are not sure
    const bool old = ask.epoch < oldest_ || ask.epoch > epoch_;
    if (now >= grace_end_ || old || !table_.free(ask.inode, ask.range) || table_.contains(name) ||
        was_taken(name))
      co_return Status(Code::stale, "the lock was given up when the connection was lost");
    if (table_.size_of(session) >= kMaxLocks) co_return Status(Code::stale, "too many locks");
    table_.add(ask.inode, name, ask.range);
    co_return Status();
  }
  if (now < grace_end_) co_await env_.clock.sleep_until(grace_end_);
  TUTTI_CO_TRY(co_await mark());
  if (table_.contains(name)) co_return Status(Code::invalid, "the session has a lock of this number");
  if (table_.size_of(session) >= kMaxLocks)
    co_return Status(Code::busy, fmt::format("the client has {} locks: release some", kMaxLocks));
  Status status;
  if (!table_.add(ask.inode, name, ask.range)) status = co_await wait(name, deadline);
  if (status.ok()) {
    take(ask);
    status = co_await mark();
    if (!status.ok()) wake(table_.remove(name));
  }
  if (status.ok() && !table_.granted(name))
    co_return Status(Code::busy, "the lock was lost before it could be used");
  co_return status;
}

// Those who lost these bytes must not have them back.
void Locks::take(const LockAsk& ask) {
  for (LostLock& each : lost_) {
    const bool theirs =
        each.inode == ask.inode && each.range.begin < ask.range.end && ask.range.begin < each.range.end;
    if (!theirs || each.taken) continue;
    each.taken = true;
    ++taken_;
  }
}

bool Locks::was_taken(const LockName& name) const {
  const auto session = sessions_.find(name.session);
  if (session == sessions_.end()) return true;
  return std::any_of(lost_.begin(), lost_.end(), [&](const LostLock& each) {
    return each.taken && each.client == session->second.client && each.number == name.number;
  });
}

Task<Status> Locks::wait(LockName name, Nanos deadline) {
  Waiting waiting(*this, name);
  const std::shared_ptr<Event> granted = waiting_.at(name);
  for (;;) {
    const Nanos left = deadline - env_.clock.now();
    if (left <= 0_s)
      co_return Status(Code::timed_out, "others hold locks on these bytes: not granted in time");
    const Status status = co_await with_timeout(env_.clock, std::min(left, lease_ / 4), wait_for(granted),
                                                "waiting for a lock");
    if (table_.granted(name)) {
      waiting.answered();
      co_return Status();
    }
    // Given up by its client, which does not listen then; or granted and lost again before it could be answered.
    if (!table_.contains(name)) co_return Status(Code::busy, "the lock was lost before it could be used");
    if (!status.ok()) drop_silent(name);
  }
}

// Takes the locks of sessions that were not heard for the lease from the way of one that waits.
void Locks::drop_silent(LockName waiting) {
  const Nanos oldest = env_.clock.now() - lease_;
  for (const std::uint64_t number : table_.blockers(waiting)) {
    const auto session = sessions_.find(number);
    if (session != sessions_.end() && session->second.heard >= oldest) continue;
    env_.log.warn("client {:x} has been silent for {}: dropping its locks",
                  session != sessions_.end() ? session->second.client : 0, to_string(lease_));
    lose(number);
  }
}

Status Locks::release(std::uint64_t session, std::uint64_t number) {
  const LockName name{session, number};
  if (!table_.contains(name)) return {Code::not_found, fmt::format("this session has no lock {}", number)};
  wake(table_.remove(name));
  const auto waiting = waiting_.find(name);
  if (waiting != waiting_.end()) waiting->second->set();  // it learns that it was given up
  return {};
}

void Locks::wake(const std::vector<LockName>& granted) {
  for (const LockName& name : granted) {
    const auto waiting = waiting_.find(name);
    if (waiting != waiting_.end()) waiting->second->set();
  }
}

}  // namespace tutti::meta
