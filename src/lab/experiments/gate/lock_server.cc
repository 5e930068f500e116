#include "lab/experiments/gate/lock_server.h"

#include <algorithm>

namespace tutti::gatelab {
namespace {

constexpr Nanos kEndless = Nanos(std::int64_t{1} << 60U);

gate::LockOptions never_silent(gate::LockOptions options) {
  options.lease = kEndless;
  return options;
}

}  // namespace

LockServer::LockServer(Simulation& simulation, gate::LockOptions options, Nanos latency)
    : clock_(simulation), latency_(latency), table_(never_silent(options)), due_(*this) {
  table_.reserve(1, std::uint64_t{1} << 62U);
}

void LockServer::Due::fire(Timer* self) {
  LockServer& server = static_cast<Due*>(self)->server;
  server.table_.advance(server.clock_.now());
  server.after_call();
}

void LockServer::note(const gate::AskName& name, const gate::Answer& answer) {
  if (answer.standing == gate::Standing::granted) grants_.push_back(name);
}

void LockServer::after_call() {
  for (const gate::Decision& decision : table_.take_decisions()) {
    note(decision.name, decision.answer);
    if (const auto asked = asked_.find(decision.name); asked != asked_.end()) {
      longest_wait_ = std::max(longest_wait_, clock_.now() - asked->second);
      asked_.erase(asked);
    }
    if (const auto found = waiting_.find(decision.name); found != waiting_.end()) found->second->set();
  }
  (void)table_.take_changes();
  due_.disarm();
  if (table_.next() < kEndless) clock_.executor().arm(due_, std::max(table_.next(), clock_.now()));
}

Task<gate::Answer> LockServer::ask(gate::Ask ask) {
  co_await clock_.sleep(latency_);
  const gate::Answer answer = table_.ask(ask, clock_.now());
  note(ask.name, answer);
  if (answer.standing == gate::Standing::waiting) asked_.emplace(ask.name, clock_.now());
  after_call();
  if (answer.standing != gate::Standing::waiting) co_await clock_.sleep(latency_);
  co_return answer;
}

Task<gate::Answer> LockServer::wait(gate::AskName name) {
  Event decided(clock_.executor());
  struct Place {
    Place(LockServer& of, gate::AskName ask, Event& event) : server(of), name(ask) {
      server.waiting_[name] = &event;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { server.waiting_.erase(name); }
    LockServer& server;
    gate::AskName name;
  };
  const Place place(*this, name, decided);
  while (table_.answer(name).standing == gate::Standing::waiting) {
    decided.reset();
    co_await decided.wait();
  }
  co_await clock_.sleep(latency_);
  co_return table_.answer(name);
}

Task<void> LockServer::release(gate::AskName name, Bytes written) {
  co_await clock_.sleep(latency_);
  table_.release(name, written, clock_.now()).ignore();
  after_call();
}

void LockServer::leave(std::uint64_t job) {
  table_.leave(job, clock_.now());
  after_call();
}

}  // namespace tutti::gatelab
