// ServerLink: a session with one server that comes back by itself.
//
// While the server is away, ready() repeats the attempt with growing pauses until the patience is over, counted
// from the last word of the server: an operation goes on as long as its server shows life. A server that is connected
// but silent while calls wait is asked for a sign of life; without one the connection is closed and made anew.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "env/channel.h"
#include "env/cluster_clock.h"
#include "env/env.h"
#include "wire/messages.h"

namespace tutti {

// What a client says of itself to every server.
struct SessionInfo {
  std::uint64_t cluster = 0;
  std::uint64_t client = 0;
  std::uint64_t application = 0;
  std::string job;
  std::string program;
  Nanos patience;
  Nanos first_patience;
};

class ServerLink {
 public:
  // `name` is for messages: "metadata server", "data server 2". The references must outlive the link. `cluster_clock`
  // learns from this server if it is not null.
  ServerLink(const Env& env, const SessionInfo& info, std::string name, std::string address,
             ClusterClock* cluster_clock = nullptr);
  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;
  ~ServerLink() = default;

  // A connected channel. `since` is when the caller's operation began.
  Task<Result<std::shared_ptr<Channel>>> ready(Nanos since);
  // One attempt, no repetition.
  Task<Result<std::shared_ptr<Channel>>> connect_once(Nanos patience);
  // Sends a request until an answer comes that is neither unavailable nor busy. The request must be one that may
  // be repeated. `Reply` is the message class of the answer.
  template <typename Reply>
  Task<Result<Channel::Reply>> call(std::uint16_t type, std::span<const std::byte> payload);

  // Asks for the time, if there is a connection, and tells the cluster clock.
  Task<void> measure_clock();

  // The server answered: patience counts from now.
  void heard();
  // After a failed attempt: waits a little, or returns why it is time to give up.
  // `backoff` belongs to the caller's operation, zero at first, and grows from pause to pause: one that is told to wait
  // must not come ever faster because others are served.
  Task<Status> pause(Nanos since, const Status& failure, Nanos& backoff);

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Task<Result<std::shared_ptr<Channel>>> attempt();
  Task<void> watch(std::shared_ptr<Channel> channel);

  const Env& env_;
  const SessionInfo& info_;
  std::string name_;
  std::string address_;
  ClusterClock* cluster_clock_;
  std::shared_ptr<Channel> channel_;
  bool connecting_ = false;
  Event attempt_ended_;
  Nanos last_word_;  // when the server last answered; meaningful if known_
  bool known_ = false;
  Scope scope_;
};

template <typename Reply>
Task<Result<Channel::Reply>> ServerLink::call(std::uint16_t type, std::span<const std::byte> payload) {
  const Nanos since = env_.clock.now();
  Nanos backoff;
  for (;;) {
    auto channel = co_await ready(since);
    if (!channel.ok()) co_return channel.status();
    Result<Channel::Reply> reply = co_await (*channel)->call(type, payload);
    Status failure = reply.status();
    if (reply.ok()) {
      heard();
      const Reply* message = wire::parse<Reply>(reply->payload);
      if (message == nullptr) co_return Status(Code::malformed, name_ + " sent a reply that does not parse");
      failure = wire::status_of(*message);
      if (failure.code() != Code::busy) {
        co_return reply;
      }
    }
    if (failure.code() != Code::unavailable && failure.code() != Code::busy) co_return failure;
    TUTTI_CO_TRY(co_await pause(since, failure, backoff));
  }
}

}  // namespace tutti
