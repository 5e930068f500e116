// CapabilityHolder: the capability of a file, and the one place where it is renewed.
//
// A capability expires; a server then says so, and whoever asked renews it here and asks again. However many requests
// find it expired at once, it is renewed once, and the others wait for that.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "client/server_session.h"
#include "env/sync.h"

namespace tutti {

class CapabilityHolder {
 public:
  // One that nobody renews, for a question that is asked at once.
  CapabilityHolder(Executor& executor, const wire::Capability& capability);
  // That of a file opened with `open_flags`. `meta` must outlive it.
  CapabilityHolder(Executor& executor, ServerSession& meta, const wire::Capability& capability,
                   std::uint32_t open_flags);
  CapabilityHolder(const CapabilityHolder&) = delete;
  CapabilityHolder& operator=(const CapabilityHolder&) = delete;
  ~CapabilityHolder() = default;

  [[nodiscard]] const wire::Capability& capability() const { return capability_; }
  // Grows with every renewal.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  // Makes it good again after a server called the one of version `used` expired. The metadata server's error, or
  // Code::expired, if that cannot be done.
  Task<Status> renew(std::uint64_t used);

 private:
  Task<Status> fetch();
  Task<Status> open_again();

  ServerSession* meta_;  // null: nobody renews it
  wire::Capability capability_;
  std::uint32_t open_flags_;
  std::uint64_t version_ = 0;
  bool renewing_ = false;
  Status outcome_;  // of the last renewal that ended
  Event renewal_ended_;
};

// A request that shows the capability, for ServerSession::ask(). `Build` makes the message:
// flatbuffers::Offset<...> build(builder, capability). `Reply` is the message class of the answer. An error that a
// server gives as its answer names the server.
template <typename Reply, typename Build>
class CapabilityRequest {
 public:
  // The references must outlive it.
  CapabilityRequest(wire::Type type, const ServerSession& server, CapabilityHolder& holder, Build build)
      : type_(type), server_(server), holder_(holder), build_(std::move(build)) {}

  [[nodiscard]] std::uint16_t type() const { return wire::request_type(type_); }
  Result<std::span<const std::byte>> message(flatbuffers::FlatBufferBuilder& builder,
                                             const std::shared_ptr<Channel>& /*channel*/) {
    shown_ = holder_.version();
    builder.Finish(build_(builder, holder_.capability()));
    return wire::bytes(builder);
  }
  Answer ended(Result<Channel::Reply>& reply, const std::shared_ptr<Channel>& /*channel*/, Nanos /*asked*/) {
    if (!reply.ok()) return answer_of(reply.status());
    const Reply* message = wire::parse<Reply>(reply->payload);
    if (message == nullptr) return {server_.malformed()};
    Answer answer = answer_of(wire::status_of(*message));
    if (answer.next == Next::finish) answer.status = answer.status.with_context(server_.name());
    reply_ = *std::move(reply);
    return answer;
  }
  Task<Status> renew() { return holder_.renew(shown_); }

  // The answer, after ask() was ok.
  [[nodiscard]] const Reply& reply() const { return *flatbuffers::GetRoot<Reply>(reply_.payload.data()); }

 private:
  wire::Type type_;
  const ServerSession& server_;
  CapabilityHolder& holder_;
  Build build_;
  std::uint64_t shown_ = 0;  // the version that the last attempt showed
  Channel::Reply reply_;
};

}  // namespace tutti
