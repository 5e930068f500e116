#include <array>
#include <cstring>

#include "env/combine.h"
#include "tests/server/data/data_server_fixture.h"

namespace tutti {
namespace {

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
      {wire::Extent(wire::kMaxOffset - 9, 10)},
      {wire::Extent(0, 10), wire::Extent(~0ULL - 5, 10)},
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

TEST_F(DataServerTest, NobodyTookMoreThanWasGranted) {
  auto channel = connect();
  flatbuffers::FlatBufferBuilder builder;
  const wire::Tag tag(1, 0, 1, 1, 0);
  const wire::Took took(std::uint64_t{1} << 60U, 1U << 30U, std::uint64_t{1} << 60U, 1U << 30U);
  builder.Finish(wire::CreateTookRequest(builder, &tag, &took));
  ASSERT_TRUE(channel->connection().send(wire::request_type(wire::Type::took), 0, wire::bytes(builder)).ok());
  auto bytes = pattern(100);
  ASSERT_TRUE(transfer(*channel, true, 0, bytes, capability(wire::kRightWrite)).ok());
  EXPECT_EQ(server_->dispatcher().totals().reads, 0U);
  EXPECT_EQ(server_->dispatcher().totals().bytes_read, 0_B);
  EXPECT_EQ(server_->dispatcher().totals().bytes_written, Bytes(100));
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
