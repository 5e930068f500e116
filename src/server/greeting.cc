#include "server/greeting.h"

#include <fmt/format.h>

#include "base/version.h"
#include "env/combine.h"

namespace tutti {
namespace {

constexpr Nanos kGreetingPatience = 30_s;
constexpr Nanos kFarewellPatience = 5_s;

}  // namespace

Task<Result<Greeting>> greet(Env env, Connection& connection, std::uint64_t cluster,
                             const ClusterClock& clock, std::string_view who) {
  Result<Frame> frame = co_await with_timeout(env.clock, kGreetingPatience, connection.receive(),
                                              "waiting for a session request");
  if (!frame.ok()) co_return frame.status();
  const auto* request = frame->type == wire::request_type(wire::Type::session)
                            ? wire::parse<wire::SessionRequest>(frame->payload)
                            : nullptr;
  if (request == nullptr) co_return Status(Code::malformed, "no sound session request came first");
  const Greeting client{request->client(), request->application()};
  Status status;
  if (request->protocol() != wire::kProtocolVersion) {
    status = Status(Code::version,
                    fmt::format("this {} speaks protocol {}, the client {}: use the same version of Tutti "
                                "on both sides",
                                who, wire::kProtocolVersion, request->protocol()));
  }
  flatbuffers::FlatBufferBuilder builder(256);
  const auto message = builder.CreateString(status.message());
  const auto version = builder.CreateString(kVersion.data(), kVersion.size());
  builder.Finish(wire::CreateSessionReply(builder, static_cast<std::uint16_t>(status.code()), message,
                                          clock.now().count(), cluster, 0, version));
  connection.send(wire::reply_type(wire::Type::session), frame->id, wire::bytes(builder)).ignore();
  if (status.ok()) co_return client;
  // The peer shall read why before the connection goes.
  (co_await with_timeout(env.clock, kFarewellPatience, connection.receive(), "waiting for the end"))
      .status()
      .ignore();
  co_return status;
}

}  // namespace tutti
