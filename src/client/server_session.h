// ServerSession: a session with one server that comes back by itself, and the one place where requests are repeated.
//
// ask() sends a request until there is an answer that is final. While the server is away the attempt to connect is
// repeated with growing pauses until the patience is over, counted from the last word of the server: an operation goes
// on as long as its server shows life. A server that is connected but silent while calls wait is asked for a sign of
// life; without one the connection is closed and made anew.
//
// A request is an object with
//   std::uint16_t type() const;
//   Result<std::span<const std::byte>> message(builder, channel);  // for one attempt; an error ends it all
//   Answer ended(Result<Channel::Reply>& reply, channel, asked);   // an attempt has its reply, or lost the connection
//   Task<Status> renew();                                          // only where ended() may say Next::renew
//   bool prepared(); Task<Status> prepare();                       // if something has to be asked of others first
// It must be one that may be repeated without harm.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "client/server_load.h"
#include "client/write_numbers.h"
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

// What to do after an attempt.
enum class Next : std::uint8_t { finish, repeat, repeat_at_once, renew };
struct Answer {
  Status status;
  Next next = Next::finish;
};
// What the status of a reply asks for: unavailable and busy to repeat, expired to renew, all else is final.
Answer answer_of(Status status);

class ServerSession {
 public:
  // `name` is for messages: "metadata server", "data server 2". The references must outlive the session.
  // `cluster_clock` learns from this server if it is not null. `index` is the number that the server must have: with
  // another one the file says where it is, every byte would go astray.
  ServerSession(const Env& env, const SessionInfo& info, std::string name, std::string address,
                ClusterClock* cluster_clock = nullptr, std::uint32_t index = 0);
  ServerSession(const ServerSession&) = delete;
  ServerSession& operator=(const ServerSession&) = delete;
  ~ServerSession() = default;

  // Repeats the request until ended() says finish, or there is no hope. The status is that of the last answer.
  template <typename Request>
  Task<Status> ask(Request& request);
  // Asks with the given bytes. The answer, as a message of class `Reply` with code ok, or its error. Any code but busy
  // is final.
  template <typename Reply>
  Task<Result<Channel::Reply>> call(std::uint16_t type, std::span<const std::byte> payload);

  // Connects, with repetition while there is hope.
  Task<Result<std::shared_ptr<Channel>>> connect() { return ready(env_.clock.now()); }
  // The present one, or the last; null before the first.
  [[nodiscard]] const std::shared_ptr<Channel>& channel() const { return channel_; }
  [[nodiscard]] bool connected() const { return channel_ && !channel_->closed(); }
  // One attempt to connect, no repetition; one that is connected already is.
  Task<Result<std::shared_ptr<Channel>>> connect_once(Nanos patience);
  // Called with every new connection before anything else is asked on it; may not wait.
  void on_connected(std::function<void(const std::shared_ptr<Channel>&)> told) { told_ = std::move(told); }
  // When the present connection, or the last, was made.
  [[nodiscard]] Nanos connected_at() const { return connected_at_; }
  // Whether the server has said that its store is on a rotating disk.
  [[nodiscard]] bool rotational() const { return rotational_; }
  // Whether it has said that its store is not.
  [[nodiscard]] bool solid() const { return known_ && !rotational_; }
  // Asks for the time, if there is a connection, and tells the cluster clock.
  Task<void> measure_clock();
  // The server answered: patience counts from now.
  void heard();

  // The words that tell of changes to the server's objects, which came on this connection under this key: see
  // env/shared_file.h. Null if they did not.
  std::shared_ptr<const SharedFile> marks(std::uint64_t key, const std::shared_ptr<Channel>& channel) {
    if (marks_channel_.lock() != channel) marks_ = nullptr;
    if (auto came = channel->connection().given(key)) {
      marks_ = std::move(came);
      marks_channel_ = channel;
    }
    return marks_;
  }

  // What it said last of how busy it is.
  [[nodiscard]] ServerLoad& load() { return load_; }

  // Of the requests to this server that must not be applied twice.
  [[nodiscard]] WriteNumbers& write_numbers() { return write_numbers_; }

  // What a reply that does not parse means.
  [[nodiscard]] Status malformed() const;

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  // For one request: more of them help only if a capability was good for a while in between.
  static constexpr int kMostRenewals = 3;
  static constexpr Nanos kGoodForAWhile = 10_s;

  // A connected channel. `since` is when the caller's request began.
  Task<Result<std::shared_ptr<Channel>>> ready(Nanos since);
  // After a failed attempt: waits a little, or returns why it is time to give up.
  // `backoff` belongs to the caller's request, zero at first, and grows from pause to pause: one that is told to wait
  // must not come ever faster because others are served.
  Task<Status> pause(Nanos since, const Status& failure, Nanos& backoff);
  Task<Result<std::shared_ptr<Channel>>> attempt();
  Task<void> watch(std::shared_ptr<Channel> channel);

  const Env& env_;
  const SessionInfo& info_;
  std::string name_;
  std::string address_;
  ClusterClock* cluster_clock_;
  std::uint32_t index_;
  std::shared_ptr<Channel> channel_;
  std::function<void(const std::shared_ptr<Channel>&)> told_;
  Nanos connected_at_;
  bool rotational_ = false;
  bool connecting_ = false;
  Event attempt_ended_;
  Nanos last_word_;  // when the server last answered; meaningful if known_
  bool known_ = false;
  Nanos silenced_;  // until when a server that was silent may not know that the connection is closed
  WriteNumbers write_numbers_;
  ServerLoad load_;
  std::shared_ptr<const SharedFile> marks_;
  std::weak_ptr<Channel> marks_channel_;
  flatbuffers::FlatBufferBuilder builder_;  // of the message of an attempt; a connection copies what it sends
  Scope scope_;
};

template <typename Request>
Task<Status> ServerSession::ask(Request& request) {
  const Nanos since = env_.clock.now();
  Nanos asked = env_.clock.steady();
  Nanos backoff;
  Nanos renewed = since;
  for (int renewals = 0;;) {
    std::shared_ptr<Channel> channel;
    if (connected()) {
      channel = channel_;
    } else {
      auto made = co_await ready(since);
      if (!made.ok()) co_return made.status();
      channel = *std::move(made);
      asked = env_.clock.steady();
    }
    if constexpr (requires { request.prepare(); }) {
      if (!request.prepared()) {
        TUTTI_CO_TRY(co_await request.prepare());
        continue;
      }
    }
    builder_.Clear();
    const Result<std::span<const std::byte>> message = request.message(builder_, channel);
    if (!message.ok()) co_return message.status();
    Result<Channel::Reply> reply = co_await channel->call(request.type(), *message);
    if (reply.ok()) heard();
    Answer answer = request.ended(reply, channel, asked);
    if (answer.next == Next::finish) co_return std::move(answer.status);
    if (answer.next == Next::repeat) TUTTI_CO_TRY(co_await pause(since, answer.status, backoff));
    if (answer.next == Next::renew) {
      if constexpr (requires { request.renew(); }) {
        if (env_.clock.now() - renewed > kGoodForAWhile) renewals = 0;
        if (++renewals > kMostRenewals) co_return std::move(answer.status);
        TUTTI_CO_TRY(co_await request.renew());
        renewed = env_.clock.now();
      } else {
        co_return std::move(answer.status);
      }
    }
    asked = env_.clock.steady();
  }
}

template <typename Reply>
Task<Result<Channel::Reply>> ServerSession::call(std::uint16_t type, std::span<const std::byte> payload) {
  struct Call {
    const ServerSession& session;
    std::uint16_t number;
    std::span<const std::byte> payload;
    Channel::Reply answer;

    [[nodiscard]] std::uint16_t type() const { return number; }
    Result<std::span<const std::byte>> message(flatbuffers::FlatBufferBuilder& /*builder*/,
                                               const std::shared_ptr<Channel>& /*channel*/) {
      return payload;
    }
    Answer ended(Result<Channel::Reply>& reply, const std::shared_ptr<Channel>& /*channel*/,
                 Nanos /*asked*/) {
      if (!reply.ok()) return answer_of(reply.status());
      const Reply* message = wire::parse<Reply>(reply->payload);
      if (message == nullptr) return {session.malformed()};
      Status status = wire::status_of(*message);
      if (status.code() == Code::busy) return answer_of(std::move(status));
      answer = *std::move(reply);
      return {std::move(status)};
    }
  };
  Call request{*this, type, payload, {}};
  TUTTI_CO_TRY(co_await ask(request));
  co_return std::move(request.answer);
}

}  // namespace tutti
