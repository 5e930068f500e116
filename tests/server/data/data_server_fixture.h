// A data server, spoken to in raw messages over the simulated network.
#pragma once

#include <gtest/gtest.h>

#include "env/channel.h"
#include "env/sim/clock.h"
#include "env/sim/network/network.h"
#include "env/sim/simulation.h"
#include "env/sim/store/memory_store.h"
#include "server/data/data_server.h"

namespace tutti {

inline constexpr std::uint64_t kFile = 42;

class DataServerTest : public testing::Test {
 protected:
  DataServerTest() {
    server_node_ = fabric_.add_node();
    client_node_ = fabric_.add_node();
    start("fcfs", {});
  }
  ~DataServerTest() override { scope_.cancel(); }

  void start(const std::string& policy, DataServerOptions options) {
    scope_.cancel();
    server_.reset();
    options.cluster = 7;
    server_ = std::make_unique<DataServer>(Env{clock_, fabric_.node(server_node_), random_, {}}, *used_,
                                           std::move(*make_request_policy(policy)), key_, options);
    scope_.spawn(serve(*server_, std::move(*fabric_.node(server_node_).listen(address_))));
  }
  static Task<void> serve(DataServer& server, std::unique_ptr<Listener> listener) {
    (co_await server.serve(std::move(listener))).ignore();
  }

  template <typename T>
  T run(Task<T> task) {
    auto result = simulation_.run(std::move(task));
    EXPECT_TRUE(result.has_value()) << "the simulation ran dry";
    return std::move(*result);
  }

  std::unique_ptr<Channel> connect(std::uint64_t client = 1,
                                   std::uint32_t protocol = wire::kProtocolVersion) {
    auto connection = run(fabric_.node(client_node_).connect(address_));
    EXPECT_TRUE(connection.ok());
    auto channel = std::make_unique<Channel>(simulation_.executor(), std::move(*connection));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(wire::CreateSessionRequest(builder, protocol, client, client));
    session_ = ask<wire::SessionReply>(*channel, wire::Type::session, builder);
    return channel;
  }

  template <typename Reply>
  Status ask(Channel& channel, wire::Type type, const flatbuffers::FlatBufferBuilder& builder) {
    auto reply = run(channel.call(wire::request_type(type), wire::bytes(builder)));
    if (!reply.ok()) return reply.status();
    const auto* message = wire::parse<Reply>(reply->payload);
    EXPECT_NE(message, nullptr);
    last_ = std::move(*reply);
    return wire::status_of(*message);
  }

  wire::Capability capability(std::uint32_t rights, Nanos lifetime = 60_s, std::uint64_t file = kFile) {
    return key_.sign(file, rights, 0, clock_.wall() + lifetime);
  }

  static void build_transfer(flatbuffers::FlatBufferBuilder& builder, const wire::Capability& capability,
                             std::vector<wire::Extent> extents, std::uint64_t region, Nanos request_time,
                             std::uint32_t inline_limit = 0, std::uint64_t application = 1) {
    const wire::Tag tag(application, request_time.count(), 1, 1, 0);
    const auto list = builder.CreateVectorOfStructs(extents);
    builder.Finish(wire::CreateTransferRequest(builder, &capability, &tag, list, region, 0, inline_limit));
  }

  Status transfer(Channel& channel, bool write, std::uint64_t offset, std::span<std::byte> bytes,
                  const wire::Capability& capability, std::uint32_t inline_limit = 0) {
    const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
    const auto region = channel.connection().expose({&segment, 1}, write ? Access::read : Access::write);
    flatbuffers::FlatBufferBuilder builder;
    build_transfer(builder, capability, {wire::Extent(offset, bytes.size())}, region, clock_.wall(),
                   inline_limit);
    Status status = ask<wire::TransferReply>(channel, write ? wire::Type::write : wire::Type::read, builder);
    channel.connection().withdraw(region);
    return status;
  }

  Task<bool> sleep(Nanos time) {
    co_await clock_.sleep(time);
    co_return true;
  }
  // Asks for a transfer beside what else goes on; its code comes into `code`.
  static Task<void> ask_later(Channel& channel, const flatbuffers::FlatBufferBuilder& builder, Code& code) {
    const auto reply = co_await channel.call(wire::request_type(wire::Type::write), wire::bytes(builder));
    code =
        reply.ok() ? wire::status_of(*wire::parse<wire::TransferReply>(reply->payload)).code() : reply.code();
  }

  const wire::TransferReply* reply() { return wire::parse<wire::TransferReply>(last_.payload); }

  Simulation simulation_{1};
  SimNetwork fabric_{simulation_, {}, Random(2)};
  SimClock clock_{simulation_};
  Random random_{3};
  MemoryStore store_;
  Store* used_ = &store_;
  ServerKey key_ = ServerKey::from_seed(9);
  const std::string address_ = SimNetwork::address(0, "data");
  NodeId server_node_ = 0;
  NodeId client_node_ = 0;
  std::unique_ptr<DataServer> server_;
  Scope scope_{simulation_.executor()};
  Status session_;
  Channel::Reply last_;
};

inline std::vector<std::byte> pattern(std::size_t size, unsigned seed = 1) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + seed);
  return bytes;
}

}  // namespace tutti
