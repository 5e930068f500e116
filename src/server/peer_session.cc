#include "server/peer_session.h"

#include <fmt/format.h>

#include <utility>

#include "env/combine.h"

namespace tutti {

Task<Result<Channel::Reply>> call_peer(Env env, Channel& channel, wire::Type type,
                                       const flatbuffers::FlatBufferBuilder& message, Nanos patience) {
  co_return co_await with_timeout(env.clock, patience,
                                  channel.call(wire::request_type(type), wire::bytes(message)),
                                  "waiting for a reply");
}

Task<Result<std::unique_ptr<Channel>>> open_peer_session(Env env, PeerAddress peer, std::uint64_t client,
                                                         std::string program, Nanos patience,
                                                         Channel::Handler handler) {
  auto connecting = env.network.connect(peer.address);
  Result<std::unique_ptr<Connection>> connection =
      co_await with_timeout(env.clock, patience, std::move(connecting), "connecting");
  if (!connection.ok()) co_return connection.status();
  auto channel = std::make_unique<Channel>(env.clock.executor(), *std::move(connection), std::move(handler));

  flatbuffers::FlatBufferBuilder message(128);
  const auto name = message.CreateString(program);
  wire::SessionRequestBuilder request(message);
  request.add_protocol(wire::kProtocolVersion);
  request.add_client(client);
  request.add_program(name);
  message.Finish(request.Finish());
  const Result<Channel::Reply> reply =
      co_await ask_peer<wire::SessionReply>(env, *channel, wire::Type::session, message, patience);
  if (!reply.ok()) co_return reply.status();
  const auto* session = flatbuffers::GetRoot<wire::SessionReply>(reply->payload.data());
  if (session->cluster() != peer.cluster || session->index() != peer.index) {
    co_return Status(
        Code::invalid,
        fmt::format("{} is server {} of cluster {:x}, not {} of {:x}: correct the configuration",
                    peer.address, session->index(), session->cluster(), peer.index, peer.cluster));
  }
  co_return channel;
}

}  // namespace tutti
