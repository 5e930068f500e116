// A server's session with another server of its cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "env/channel.h"
#include "env/env.h"
#include "wire/messages.h"

namespace tutti {

struct PeerAddress {
  std::string address;
  std::uint64_t cluster = 0;
  std::uint32_t index = 0;  // which data server it must be; 0 for the metadata server and the coordinator
};

// Connects and opens a session as client `client`; each of the two steps may take `patience`. Code::invalid if a
// server of another cluster or number answers: a wrong address in the configuration must do no harm there.
// `program` says in the other's log who calls; `handler` gets what the other says by itself.
Task<Result<std::unique_ptr<Channel>>> open_peer_session(Env env, PeerAddress peer, std::uint64_t client,
                                                         std::string program, Nanos patience,
                                                         Channel::Handler handler = {});

// The answer to one message, within `patience`, as a sound Reply whose code is ok; else its error.
template <typename Reply>
Task<Result<Channel::Reply>> ask_peer(Env env, Channel& channel, wire::Type type,
                                      const flatbuffers::FlatBufferBuilder& message, Nanos patience);

Task<Result<Channel::Reply>> call_peer(Env env, Channel& channel, wire::Type type,
                                       const flatbuffers::FlatBufferBuilder& message, Nanos patience);

template <typename Reply>
Task<Result<Channel::Reply>> ask_peer(Env env, Channel& channel, wire::Type type,
                                      const flatbuffers::FlatBufferBuilder& message, Nanos patience) {
  Result<Channel::Reply> reply = co_await call_peer(env, channel, type, message, patience);
  if (!reply.ok()) co_return reply;
  const Reply* answer = wire::parse<Reply>(reply->payload);
  if (answer == nullptr) co_return Status(Code::malformed, "the reply is malformed");
  TUTTI_CO_TRY(wire::status_of(*answer));
  co_return reply;
}

}  // namespace tutti
