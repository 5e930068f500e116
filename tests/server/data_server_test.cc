// A data server, spoken to in raw messages over the simulated network.
#include "server/data_server.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <list>

#include "env/channel.h"
#include "env/combine.h"
#include "env/sim/clock.h"
#include "env/sim/device/hdd.h"
#include "env/sim/device_store.h"
#include "env/sim/memory_store.h"
#include "env/sim/network.h"
#include "env/sim/simulation.h"

namespace tutti {
namespace {

constexpr std::uint64_t kFile = 42;

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

std::vector<std::byte> pattern(std::size_t size, unsigned seed = 1) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + seed);
  return bytes;
}

TEST_F(DataServerTest, ReadsBackWhatWasWritten) {
  auto channel = connect();
  auto bytes = pattern(100'000);
  ASSERT_TRUE(transfer(*channel, true, 5000, bytes, capability(wire::kRightWrite)).ok());
  std::vector<std::byte> back(100'000);
  ASSERT_TRUE(transfer(*channel, false, 5000, back, capability(wire::kRightRead)).ok());
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(server_->dispatcher().totals().writes, 1U);
  EXPECT_EQ(server_->dispatcher().totals().bytes_read, Bytes(100'000));
}

TEST_F(DataServerTest, SmallReadComesInsideTheReply) {
  auto channel = connect();
  auto bytes = pattern(4096);
  ASSERT_TRUE(transfer(*channel, true, 0, bytes, capability(wire::kRightWrite)).ok());
  std::vector<std::byte> untouched(4096);
  ASSERT_TRUE(transfer(*channel, false, 0, untouched, capability(wire::kRightRead), 4096).ok());
  ASSERT_NE(reply()->bytes(), nullptr);
  EXPECT_EQ(std::memcmp(reply()->bytes()->data(), bytes.data(), bytes.size()), 0);
}

TEST_F(DataServerTest, ReadPastTheEndTellsWhereTheObjectEnds) {
  auto channel = connect();
  auto bytes = pattern(100);
  ASSERT_TRUE(transfer(*channel, true, 0, bytes, capability(wire::kRightWrite)).ok());
  std::vector<std::byte> back(200);
  ASSERT_TRUE(transfer(*channel, false, 50, back, capability(wire::kRightRead)).ok());
  EXPECT_EQ(reply()->valid_end(), 100U);
  EXPECT_EQ(std::memcmp(back.data(), bytes.data() + 50, 50), 0);
}

TEST_F(DataServerTest, ForgedCapabilitiesAreRefused) {
  auto channel = connect();
  auto bytes = pattern(10);
  const auto good = capability(wire::kRightRead);
  std::array<std::uint8_t, 32> mac{};
  std::memcpy(mac.data(), good.mac()->data(), mac.size());
  const flatbuffers::span<const std::uint8_t, 32> stolen(mac.data(), mac.size());
  const wire::Capability other_file(kFile + 1, good.expiry(), good.rights(), good.uid(), stolen);
  const wire::Capability other_rights(kFile, good.expiry(), wire::kRightWrite, good.uid(), stolen);
  const wire::Capability longer(kFile, good.expiry() + 1, good.rights(), good.uid(), stolen);
  EXPECT_EQ(transfer(*channel, false, 0, bytes, other_file).code(), Code::bad_capability);
  EXPECT_EQ(transfer(*channel, true, 0, bytes, other_rights).code(), Code::bad_capability);
  EXPECT_EQ(transfer(*channel, false, 0, bytes, longer).code(), Code::bad_capability);
  EXPECT_EQ(transfer(*channel, true, 0, bytes, good).code(), Code::bad_capability)
      << "a right it does not give";
  const auto foreign = ServerKey::from_seed(10).sign(kFile, wire::kRightRead, 0, clock_.wall() + 60_s);
  EXPECT_EQ(transfer(*channel, false, 0, bytes, foreign).code(), Code::bad_capability);
  EXPECT_TRUE(transfer(*channel, false, 0, bytes, good).ok()) << "the session goes on";
}

TEST_F(DataServerTest, ExpiredCapabilityIsRefusedAsExpired) {
  auto channel = connect();
  auto bytes = pattern(10);
  EXPECT_EQ(transfer(*channel, true, 0, bytes, capability(wire::kRightWrite, -1_s)).code(), Code::expired);
}

TEST_F(DataServerTest, ClaimsBeyondTheLimitsAreRefused) {
  auto channel = connect();
  const auto rights = capability(wire::kRightWrite);
  const std::vector<std::vector<wire::Extent>> claims = {
      {wire::Extent(0, 0)},
      {wire::Extent(0, wire::kMaxTransfer + 1)},
      {wire::Extent(wire::kMaxOffset + 1, 1)},
      {wire::Extent(~0ULL, ~0ULL)},
      std::vector<wire::Extent>(wire::kMaxExtents + 1, wire::Extent(0, 1)),
  };
  for (const auto& claim : claims) {
    flatbuffers::FlatBufferBuilder builder;
    build_transfer(builder, rights, claim, 1, clock_.wall());
    const Status status = ask<wire::TransferReply>(*channel, wire::Type::write, builder);
    EXPECT_TRUE(status.code() == Code::invalid || status.code() == Code::too_large) << status.to_string();
  }
  EXPECT_EQ(server_->dispatcher().queued(), 0U);
}

TEST_F(DataServerTest, OtherProtocolVersionIsRefusedWithItsNumber) {
  auto channel = connect(1, wire::kProtocolVersion + 1);
  EXPECT_EQ(session_.code(), Code::version);
}

TEST_F(DataServerTest, AMessageBeforeTheSessionCostsTheConnection) {
  auto connection = run(fabric_.node(client_node_).connect(address_));
  ASSERT_TRUE(connection.ok());
  Channel channel(simulation_.executor(), std::move(*connection));
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(wire::CreateStatusRequest(builder));
  EXPECT_EQ(ask<wire::ServerStatusReply>(channel, wire::Type::status, builder).code(), Code::unavailable);
}

TEST_F(DataServerTest, GarbageCostsItsSenderTheConnectionAndNobodyElse) {
  auto honest = connect(1);
  Random random(5);
  for (const auto type : {wire::Type::read, wire::Type::write, wire::Type::sync, wire::Type::length,
                          wire::Type::truncate, wire::Type::remove_object, static_cast<wire::Type>(999)}) {
    for (int i = 0; i < 20; ++i) {
      auto attacker = connect(100);
      std::vector<std::byte> junk(random.below(300));
      for (auto& byte : junk) byte = static_cast<std::byte>(random.next());
      auto reply = run(attacker->call(wire::request_type(type), junk));
      EXPECT_EQ(reply.code(), Code::unavailable);
    }
  }
  auto bytes = pattern(100);
  EXPECT_TRUE(transfer(*honest, true, 0, bytes, capability(wire::kRightWrite)).ok());
}

TEST_F(DataServerTest, TruncatedMessagesNeverGetThrough) {
  flatbuffers::FlatBufferBuilder builder;
  build_transfer(builder, capability(wire::kRightWrite), {wire::Extent(0, 10)}, 1, clock_.wall());
  const auto whole = wire::bytes(builder);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    auto attacker = connect(100);
    auto reply = run(attacker->call(wire::request_type(wire::Type::write), whole.first(size)));
    if (reply.ok()) {
      // A cut that still verifies must not be a transfer.
      EXPECT_NE(wire::status_of(*wire::parse<wire::TransferReply>(reply->payload)).code(), Code::ok);
    }
  }
  EXPECT_EQ(server_->dispatcher().totals().writes, 0U);
}

TEST_F(DataServerTest, SuccessorIsAcceptedAndThePredecessorEnds) {
  auto first = connect(1);
  auto second = connect(1);
  EXPECT_TRUE(session_.ok());
  auto bytes = pattern(10);
  EXPECT_EQ(transfer(*first, true, 0, bytes, capability(wire::kRightWrite)).code(), Code::unavailable);
  EXPECT_TRUE(transfer(*second, true, 0, bytes, capability(wire::kRightWrite)).ok());
}

TEST_F(DataServerTest, AnotherUsersClientIdIsNotTakenOver) {
  auto first = connect(1);
  Peer stranger;
  stranger.uid = 1000;
  stranger.name = "stranger";
  fabric_.set_peer(client_node_, stranger);
  auto second = connect(1);
  EXPECT_EQ(session_.code(), Code::permission);
  auto bytes = pattern(10);
  EXPECT_TRUE(transfer(*first, true, 0, bytes, capability(wire::kRightWrite)).ok());
}

TEST_F(DataServerTest, AFullQueueTellsClientsToWait) {
  DataServerOptions options;
  options.max_queued_per_session = 4;
  start("fcfs;dispatch_depth=1", options);
  auto channel = connect();
  auto bytes = pattern(1 << 20);
  const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
  const auto region = channel->connection().expose({&segment, 1}, Access::read);
  std::vector<flatbuffers::FlatBufferBuilder> builders(20);
  std::vector<Task<Result<Channel::Reply>>> calls;
  for (auto& builder : builders) {
    build_transfer(builder, capability(wire::kRightWrite), {wire::Extent(0, bytes.size())}, region,
                   clock_.wall());
    calls.push_back(channel->call(wire::request_type(wire::Type::write), wire::bytes(builder)));
  }
  int served = 0;
  int told_to_wait = 0;
  for (const auto& reply : run(when_all(std::move(calls)))) {
    ASSERT_TRUE(reply.ok());
    const Status status = wire::status_of(*wire::parse<wire::TransferReply>(reply->payload));
    served += status.ok() ? 1 : 0;
    told_to_wait += status.code() == Code::busy ? 1 : 0;
  }
  EXPECT_EQ(served, 5) << "one in service, four queued";
  EXPECT_EQ(told_to_wait, 15);
}

// A server whose disk has to be asked for the way to each object first.
class ColdServerTest : public DataServerTest {
 protected:
  ColdServerTest() {
    for (const std::uint64_t file : {kFile, kFile + 1}) {
      EXPECT_TRUE(run(store_.truncate(ObjectId{file}, 1_MiB)).ok());
    }
    used_ = &disk_;
  }
  ~ColdServerTest() override {
    scope_.cancel();
    server_.reset();
  }
  static Task<bool> call(Channel& channel, flatbuffers::FlatBufferBuilder& builder, std::uint64_t application,
                         std::vector<std::uint64_t>& order) {
    const auto reply = co_await channel.call(wire::request_type(wire::Type::read), wire::bytes(builder));
    if (reply.ok() && wire::status_of(*wire::parse<wire::TransferReply>(reply->payload)).ok())
      order.push_back(application);
    co_return reply.ok();
  }
  // 64 KiB of the file.
  Task<bool> read(Channel& channel, std::uint64_t file, std::uint64_t application) {
    const Segment segment{reinterpret_cast<std::uint64_t>(memory_.data()), memory_.size()};
    const auto region = channel.connection().expose({&segment, 1}, Access::write);
    auto& builder = builders_.emplace_back();
    build_transfer(builder, capability(wire::kRightRead, 60_s, file), {wire::Extent(0, memory_.size())},
                   region, clock_.wall(), 0, application);
    return call(channel, builder, application, order_);
  }

  DeviceStore disk_{clock_, store_, std::make_unique<HddModel>(default_hdd()),
                    std::move(*make_io_scheduler("none"))};
  std::vector<std::byte> memory_ = std::vector<std::byte>(64 << 10);
  std::list<flatbuffers::FlatBufferBuilder> builders_;
  std::vector<std::uint64_t> order_;  // applications, as they were answered
};

// The inode of a cold object is a seek of its own. Who came first has it read at once; then the queue decides again.
TEST_F(ColdServerTest, WhoRanksFirstNeedNotWaitForTheBytesOfWhoCameFirst) {
  for (const char* policy : {"window", "fcfs;dispatch_depth=1"}) {
    disk_.drop_caches();
    order_.clear();
    start(policy, {});
    auto channel = connect();
    const std::uint64_t before = disk_.device_statistics().reads;
    std::vector<Task<bool>> readers;
    readers.push_back(read(*channel, kFile, 9));
    readers.push_back(read(*channel, kFile + 1, 1));
    run(when_all(std::move(readers)));
    const bool window = std::string_view(policy) == "window";
    EXPECT_EQ(order_, (window ? std::vector<std::uint64_t>{1, 9} : std::vector<std::uint64_t>{9, 1}));
    EXPECT_EQ(disk_.device_statistics().reads - before, 4U) << "two inodes, two times 64 KiB";
    EXPECT_EQ(server_->dispatcher().totals().reads, 2U);
    EXPECT_EQ(server_->dispatcher().queued() + server_->dispatcher().in_service(), 0U);
  }
}

TEST_F(ColdServerTest, AClientThatGoesWhileTheWayIsAskedForWasNotServed) {
  start("window", {});
  auto channel = connect();
  Scope readers(simulation_.executor());
  readers.spawn(
      [](Task<bool> reading) -> Task<void> { co_await std::move(reading); }(read(*channel, kFile, 1)));
  simulation_.run_until([&] { return server_->dispatcher().in_service() == 1; });
  channel->close();
  simulation_.run_until(simulation_.now() + 1_s);
  EXPECT_EQ(server_->dispatcher().totals().reads, 0U);
  EXPECT_EQ(server_->dispatcher().queued() + server_->dispatcher().in_service(), 0U);
  EXPECT_EQ(server_->dispatcher().memory(), 0_B);
}

TEST_F(DataServerTest, NobodyTookMoreThanWasGranted) {
  auto channel = connect();
  flatbuffers::FlatBufferBuilder builder;
  const wire::Tag tag(1, 0, 1, 1, 0);
  const wire::Took took(std::uint64_t{1} << 60U, std::uint64_t{1} << 60U);
  builder.Finish(wire::CreateTookRequest(builder, &tag, &took));
  ASSERT_TRUE(channel->connection().send(wire::request_type(wire::Type::took), 0, wire::bytes(builder)).ok());
  auto bytes = pattern(100);
  ASSERT_TRUE(transfer(*channel, true, 0, bytes, capability(wire::kRightWrite)).ok());
  EXPECT_EQ(server_->dispatcher().totals().reads, 0U);
  EXPECT_EQ(server_->dispatcher().totals().bytes_read, 0_B);
}

TEST_F(DataServerTest, RequestsOfManyPiecesAreBoundedByTheirMemory) {
  DataServerOptions options;
  options.queue_memory = 1_MiB;
  start("fcfs;dispatch_depth=1", options);
  auto channel = connect();
  auto bytes = pattern(4096);
  const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
  const auto region = channel->connection().expose({&segment, 1}, Access::read);
  std::vector<wire::Extent> pieces;
  for (std::uint64_t i = 0; i < bytes.size(); ++i) pieces.emplace_back(2 * i, 1);
  std::vector<flatbuffers::FlatBufferBuilder> builders(100);
  std::vector<Task<Result<Channel::Reply>>> calls;
  for (auto& builder : builders) {
    build_transfer(builder, capability(wire::kRightWrite), pieces, region, clock_.wall());
    calls.push_back(channel->call(wire::request_type(wire::Type::write), wire::bytes(builder)));
  }
  int told_to_wait = 0;
  for (const auto& reply : run(when_all(std::move(calls)))) {
    ASSERT_TRUE(reply.ok());
    const Status status = wire::status_of(*wire::parse<wire::TransferReply>(reply->payload));
    told_to_wait += status.code() == Code::busy ? 1 : 0;
    EXPECT_TRUE(status.ok() || status.code() == Code::busy) << status.to_string();
    EXPECT_LE(server_->dispatcher().memory(), 1_MiB + 128_KiB);
  }
  EXPECT_GE(told_to_wait, 60) << "each takes 64 KiB";
  EXPECT_LE(told_to_wait, 90);
  EXPECT_EQ(server_->dispatcher().memory(), 0_B);
}

// The bytes of structs are good, but begin where none may be read.
TEST_F(DataServerTest, MisalignedExtentsAndSegmentsCostTheConnection) {
  for (const bool of_segments : {false, true}) {
    int misaligned = 0;
    for (std::size_t filler = 0; filler < 8; ++filler) {
      auto attacker = connect(100);
      const auto rights = capability(wire::kRightWrite);
      const wire::Tag tag(1, clock_.wall().count(), 1, 1, 0);
      flatbuffers::FlatBufferBuilder builder;
      const auto shift = builder.CreateVector(std::vector<std::uint8_t>(filler));
      const std::vector<std::uint64_t> words = {0, 10};
      builder.StartVector(16, 1);
      builder.PushBytes(reinterpret_cast<const std::uint8_t*>(words.data()), 16);
      const flatbuffers::uoffset_t crooked = builder.EndVector(1);
      const std::vector<wire::Extent> good = {wire::Extent(0, 10)};
      const auto straight = builder.CreateVectorOfStructs(good);
      const flatbuffers::Offset<flatbuffers::Vector<const wire::Extent*>> extents(of_segments ? straight.o
                                                                                              : crooked);
      const flatbuffers::Offset<flatbuffers::Vector<const wire::Segment*>> segments(of_segments ? crooked
                                                                                                : 0);
      builder.Finish(wire::CreateTransferRequest(builder, &rights, &tag, extents, 1, segments, 0));
      ASSERT_GT(shift.o, 0U);
      const auto* request = wire::parse<wire::TransferRequest>(wire::bytes(builder));
      ASSERT_NE(request, nullptr) << "the verifier lets it pass";
      if (wire::aligned(request->extents()) && wire::aligned(request->segments())) continue;
      ++misaligned;
      const auto reply = run(attacker->call(wire::request_type(wire::Type::write), wire::bytes(builder)));
      EXPECT_EQ(reply.code(), Code::unavailable);
      EXPECT_EQ(server_->dispatcher().queued() + server_->dispatcher().in_service(), 0U);
    }
    EXPECT_GT(misaligned, 0);
  }
  EXPECT_EQ(server_->dispatcher().totals().writes, 0U);
}

TEST_F(DataServerTest, ADeadClientLeavesNothingInTheQueue) {
  start("fcfs;dispatch_depth=1", {});
  auto channel = connect();
  auto bytes = pattern(1 << 20);
  const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
  const auto region = channel->connection().expose({&segment, 1}, Access::read);
  for (std::uint64_t i = 1; i <= 10; ++i) {
    flatbuffers::FlatBufferBuilder builder;
    build_transfer(builder, capability(wire::kRightWrite), {wire::Extent(0, bytes.size())}, region,
                   clock_.wall());
    ASSERT_TRUE(channel->connection()
                    .send(wire::request_type(wire::Type::write), 1000 + i, wire::bytes(builder))
                    .ok());
  }
  ASSERT_TRUE(simulation_.run_until([&] { return server_->dispatcher().queued() == 9; }));
  channel.reset();
  ASSERT_TRUE(simulation_.run_until(
      [&] { return server_->dispatcher().queued() == 0 && server_->dispatcher().in_service() == 0; }));
  EXPECT_LE(server_->dispatcher().totals().writes, 1U);
}

TEST_F(DataServerTest, LengthTruncateSyncAndRemoveNeedTheirRights) {
  auto channel = connect();
  auto bytes = pattern(1000);
  ASSERT_TRUE(transfer(*channel, true, 0, bytes, capability(wire::kRightWrite)).ok());
  const auto object = [&](wire::Type type, std::uint32_t rights) {
    flatbuffers::FlatBufferBuilder builder;
    const auto shown = capability(rights);
    builder.Finish(wire::CreateObjectRequest(builder, &shown));
    return type == wire::Type::length ? ask<wire::LengthReply>(*channel, type, builder)
                                      : ask<wire::StatusReply>(*channel, type, builder);
  };
  const auto truncate = [&](std::uint64_t length, bool cut, bool grow,
                            std::uint32_t rights = wire::kRightWrite) {
    flatbuffers::FlatBufferBuilder builder;
    const auto shown = capability(rights);
    builder.Finish(wire::CreateTruncateRequest(builder, &shown, nullptr, length, cut, grow));
    return ask<wire::StatusReply>(*channel, wire::Type::truncate, builder);
  };
  const auto length = [&] {
    EXPECT_TRUE(object(wire::Type::length, wire::kRightLength).ok());
    return wire::parse<wire::LengthReply>(last_.payload)->length();
  };
  EXPECT_EQ(length(), 1000U);
  EXPECT_TRUE(truncate(2000, true, false).ok());
  EXPECT_EQ(length(), 1000U) << "only a cut was allowed";
  EXPECT_TRUE(truncate(2000, true, true).ok());
  EXPECT_EQ(length(), 2000U);
  EXPECT_TRUE(truncate(10, false, true).ok());
  EXPECT_EQ(length(), 2000U);
  EXPECT_TRUE(truncate(10, true, false).ok());
  EXPECT_EQ(length(), 10U);
  EXPECT_EQ(truncate(1, true, true, wire::kRightRead).code(), Code::bad_capability);
  EXPECT_EQ(truncate(wire::kMaxOffset + 1, true, true).code(), Code::too_large);
  EXPECT_EQ(object(wire::Type::length, wire::kRightRead).code(), Code::bad_capability);
  EXPECT_EQ(object(wire::Type::sync, wire::kRightRead).code(), Code::bad_capability);
  EXPECT_EQ(object(wire::Type::remove_object, wire::kRightWrite).code(), Code::bad_capability);
  EXPECT_TRUE(object(wire::Type::sync, wire::kRightWrite).ok());
  EXPECT_TRUE(object(wire::Type::remove_object, wire::kRightRemove).ok());
  EXPECT_TRUE(object(wire::Type::remove_object, wire::kRightRemove).ok()) << "removing twice does no harm";
}

}  // namespace
}  // namespace tutti
