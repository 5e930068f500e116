// A metadata server and data servers in the simulated world, spoken to in raw messages.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "env/channel.h"
#include "env/sim/clock.h"
#include "env/sim/kv/memory_kv.h"
#include "env/sim/network/network.h"
#include "env/sim/simulation.h"
#include "env/sim/store/memory_store.h"
#include "server/data/data_server.h"
#include "server/meta/meta_server.h"
#include "wire/messages.h"

namespace tutti {

class MetaWorld : public testing::Test {
 protected:
  static constexpr std::uint64_t kCluster = 0xc1;
  static constexpr std::uint32_t kDataServers = 3;

  MetaWorld() {
    meta_node_ = fabric_.add_node();
    client_node_ = fabric_.add_node();
    options_.cluster = kCluster;
    for (std::uint32_t i = 0; i < kDataServers; ++i) {
      data_nodes_.push_back(fabric_.add_node());
      stores_.push_back(std::make_unique<MemoryStore>());
      options_.data_servers.push_back(SimNetwork::address(data_nodes_[i], "data"));
    }
    data_servers_.resize(kDataServers);
  }
  ~MetaWorld() override { stop(); }

  Status start() {
    meta_ =
        std::make_unique<MetaServer>(Env{clock_, fabric_.node(meta_node_), random_, {}}, kv_, key_, options_);
    Status status = run(meta_->open());
    if (status.ok()) {
      serving_.spawn(finish(meta_->serve(std::move(*fabric_.node(meta_node_).listen(address_)))));
      simulation_.executor().run_ready();
    }
    return status;
  }
  void stop() {
    serving_.cancel();
    meta_.reset();
  }
  void start_data(std::uint32_t index) {
    DataServerOptions options;
    options.index = index;
    options.cluster = kCluster;
    Network& network = fabric_.node(data_nodes_[index]);
    data_servers_[index] =
        std::make_unique<DataServer>(Env{clock_, network, random_, {}}, *stores_[index],
                                     std::move(*make_request_policy("fcfs")), key_, options);
    data_serving_.spawn(
        finish(data_servers_[index]->serve(std::move(*network.listen(options_.data_servers[index])))));
  }
  static Task<void> finish(Task<Status> serving) { (co_await std::move(serving)).ignore(); }

  template <typename T>
  T run(Task<T> task) {
    auto result = simulation_.run(std::move(task));
    EXPECT_TRUE(result.has_value()) << "the simulation ran dry";
    return std::move(*result);
  }

  // One client's session, in the name of `uid`.
  struct Client {
    std::unique_ptr<Network> network;
    std::unique_ptr<Channel> channel;
    Status session;
  };
  Client connect(std::uint32_t uid, std::uint64_t client = 1,
                 std::uint32_t protocol = wire::kProtocolVersion) {
    Client made = connect_raw(uid);
    flatbuffers::FlatBufferBuilder message;
    message.Finish(wire::CreateSessionRequest(message, protocol, client, client));
    made.session = ask<wire::SessionReply>(made, wire::Type::session, message);
    return made;
  }
  Client connect_raw(std::uint32_t uid) {
    Client made;
    made.network = fabric_.process(client_node_, Peer{uid, uid, {500}, 1, "uid " + std::to_string(uid)});
    auto connection = run(made.network->connect(address_));
    EXPECT_TRUE(connection.ok());
    made.channel = std::make_unique<Channel>(simulation_.executor(), std::move(*connection));
    return made;
  }

  template <typename Reply>
  Status ask(Client& client, wire::Type type, const flatbuffers::FlatBufferBuilder& message) {
    auto reply = run(client.channel->call(wire::request_type(type), wire::bytes(message)));
    if (!reply.ok()) return reply.status();
    EXPECT_EQ(reply->type, wire::reply_type(type));
    last_ = std::move(*reply);
    const auto* parsed = wire::parse<Reply>(last_.payload);
    EXPECT_NE(parsed, nullptr);
    return wire::status_of(*parsed);
  }
  template <typename Reply>
  const Reply& last() {
    return *wire::parse<Reply>(last_.payload);
  }

  using Builder = flatbuffers::FlatBufferBuilder;
  static flatbuffers::Offset<wire::Place> place(Builder& builder, const std::string& path) {
    return wire::CreatePlace(builder, 0, builder.CreateString(path));
  }
  static Builder open_message(const std::string& path, std::uint32_t flags, std::uint64_t sequence = 0,
                              std::uint32_t mode = 0644) {
    Builder builder;
    const auto where = place(builder, path);
    builder.Finish(wire::CreateOpenRequest(builder, where, flags, mode, nullptr, sequence));
    return builder;
  }
  Status open(Client& client, const std::string& path, std::uint32_t flags, std::uint64_t sequence = 0,
              std::uint32_t mode = 0644) {
    return ask<wire::NodeReply>(client, wire::Type::open, open_message(path, flags, sequence, mode));
  }
  Status create(Client& client, const std::string& path, std::uint64_t sequence = 0) {
    return open(client, path, wire::kOpenWrite | wire::kOpenCreate | wire::kOpenExclusive, sequence);
  }
  Status lookup(Client& client, const std::string& path, bool follow = true) {
    Builder builder;
    const auto where = place(builder, path);
    builder.Finish(wire::CreateLookupRequest(builder, where, follow));
    return ask<wire::NodeReply>(client, wire::Type::lookup, builder);
  }
  Status make_directory(Client& client, const std::string& path, std::uint64_t sequence = 0) {
    Builder builder;
    const auto where = place(builder, path);
    builder.Finish(wire::CreateMakeDirectoryRequest(builder, where, 0755, nullptr, sequence));
    return ask<wire::NodeReply>(client, wire::Type::make_directory, builder);
  }
  Status remove(Client& client, const std::string& path, bool directory = false, std::uint64_t sequence = 0) {
    Builder builder;
    const auto where = place(builder, path);
    builder.Finish(wire::CreateRemoveRequest(builder, where, directory, sequence));
    return ask<wire::StatusReply>(client, wire::Type::remove, builder);
  }
  Status rename(Client& client, const std::string& from, const std::string& to, std::uint64_t sequence = 0) {
    Builder builder;
    const auto first = place(builder, from);
    const auto second = place(builder, to);
    builder.Finish(wire::CreateRenameRequest(builder, first, second, false, sequence));
    return ask<wire::StatusReply>(client, wire::Type::rename, builder);
  }
  Status renew(Client& client, const wire::Capability& capability) {
    Builder builder;
    builder.Finish(wire::CreateRenewRequest(builder, &capability));
    return ask<wire::CapabilityReply>(client, wire::Type::renew, builder);
  }
  Status commit(Client& client, const wire::Capability& capability, Nanos modified) {
    Builder builder;
    builder.Finish(wire::CreateCommitRequest(builder, &capability, modified.count()));
    return ask<wire::StatusReply>(client, wire::Type::commit, builder);
  }
  Status status(Client& client) {
    Builder builder;
    builder.Finish(wire::CreateStatusRequest(builder));
    return ask<wire::ServerStatusReply>(client, wire::Type::status, builder);
  }
  std::size_t keys(char kind) {
    std::size_t found = 0;
    EXPECT_TRUE(kv_.view([&](const KvReader& kv) {
                     return kv.scan(std::string(1, kind), [&](std::string_view key, std::string_view) {
                       found += key[0] == kind ? 1U : 0U;
                       return key[0] == kind;
                     });
                   })
                    .ok());
    return found;
  }

  Simulation simulation_;
  SimClock clock_{simulation_};
  SimNetwork fabric_{simulation_, {}, Random(2)};
  Random random_{3};
  MemoryKv kv_{clock_, {200_us}};
  ServerKey key_ = ServerKey::from_seed(4);
  MetaServerOptions options_;
  NodeId meta_node_ = 0;
  NodeId client_node_ = 0;
  std::string address_ = SimNetwork::address(0, "meta");
  std::vector<NodeId> data_nodes_;
  std::vector<std::unique_ptr<MemoryStore>> stores_;
  std::vector<std::unique_ptr<DataServer>> data_servers_;
  std::unique_ptr<MetaServer> meta_;
  Channel::Reply last_;
  Scope data_serving_{simulation_.executor()};
  Scope serving_{simulation_.executor()};
};

}  // namespace tutti
