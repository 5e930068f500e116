// A server whose every answer the test decides, in a simulated network with one client.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "client/server_session.h"
#include "env/sim/clock.h"
#include "env/sim/network/network.h"
#include "env/sim/simulation.h"

namespace tutti {

class ScriptedServerTest : public testing::Test {
 protected:
  // The answer to a request of this type, as a message; nothing: it stays silent.
  using Script = std::function<std::optional<flatbuffers::DetachedBuffer>(wire::Type)>;

  ScriptedServerTest() {
    info_.patience = 10_s;
    info_.first_patience = 5_s;
    start();
  }
  ~ScriptedServerTest() override { session_.reset(); }

  void start() {
    auto listener = fabric_.node(server_node_).listen(SimNetwork::address(server_node_, "s"));
    ASSERT_TRUE(listener.ok());
    server_ = std::make_unique<Scope>(simulation_.executor());
    server_->spawn(accept(*this, *std::move(listener)));
  }
  // The process dies, with its connections.
  void stop() { server_.reset(); }

  template <typename T>
  T run(Task<T> task) {
    auto result = simulation_.run(std::move(task));
    EXPECT_TRUE(result.has_value()) << "the simulation ran dry";
    return std::move(*result);
  }
  void pass(Nanos time) { simulation_.run_until(simulation_.now() + time); }

  static flatbuffers::DetachedBuffer status_reply(Code code, std::uint64_t boot = 0) {
    flatbuffers::FlatBufferBuilder builder;
    const auto text = builder.CreateString(code == Code::ok ? "" : "as scripted");
    builder.Finish(wire::CreateStatusReply(builder, static_cast<std::uint16_t>(code), text, boot));
    return builder.Release();
  }
  Task<Result<Channel::Reply>> call() {
    static const flatbuffers::DetachedBuffer message = [] {
      flatbuffers::FlatBufferBuilder builder;
      builder.Finish(wire::CreateStatusRequest(builder));
      return builder.Release();
    }();
    return session_->call<wire::StatusReply>(
        wire::request_type(wire::Type::commit),
        {reinterpret_cast<const std::byte*>(message.data()), message.size()});
  }

  Simulation simulation_;
  SimNetwork fabric_{simulation_, {}, Random(1)};
  NodeId server_node_ = fabric_.add_node();
  NodeId client_node_ = fabric_.add_node();
  SimClock clock_{simulation_};
  Random random_{1};
  Env env_{clock_, fabric_.node(client_node_), random_, {}};
  SessionInfo info_;
  Script script_ = [](wire::Type) { return status_reply(Code::ok); };
  int sessions_ = 0;                  // that the server has accepted
  std::vector<wire::Type> received_;  // other requests, in order
  std::unique_ptr<Scope> server_;
  std::unique_ptr<ServerSession> session_ =
      std::make_unique<ServerSession>(env_, info_, "the server", SimNetwork::address(server_node_, "s"));

 private:
  static Task<void> accept(ScriptedServerTest& test, std::unique_ptr<Listener> listener) {
    std::vector<std::unique_ptr<Connection>> connections;
    Scope serving(test.simulation_.executor());
    for (;;) {
      auto connection = co_await listener->accept();
      if (!connection.ok()) co_return;
      connections.push_back(*std::move(connection));
      serving.spawn(serve(test, *connections.back()));
    }
  }
  static Task<void> serve(ScriptedServerTest& test, Connection& connection) {
    for (;;) {
      const auto frame = co_await connection.receive();
      if (!frame.ok()) co_return;
      const auto type = static_cast<wire::Type>(frame->type);
      std::optional<flatbuffers::DetachedBuffer> answer;
      if (type == wire::Type::session) {
        ++test.sessions_;
        flatbuffers::FlatBufferBuilder builder;
        builder.Finish(wire::CreateSessionReply(builder));
        answer = builder.Release();
      } else {
        test.received_.push_back(type);
        answer = test.script_(type);
      }
      if (!answer) continue;
      connection
          .send(wire::reply_type(type), frame->id,
                {reinterpret_cast<const std::byte*>(answer->data()), answer->size()})
          .ignore();
    }
  }
};

}  // namespace tutti
